# SPDX-License-Identifier: Apache-2.0
"""`muster image-based create ...`: media that copy a seed, and that make a site's cluster of the copy."""

from __future__ import annotations

import hashlib
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click

from muster import __version__
from muster.cli import log, options, site
from muster.cli.fleet import CONFIG_FILES, CONFIG_HINT, config_images
from muster.cli.options import Run
from muster.config.resolve_image_based import resolve_configuration, resolve_installation
from muster.config.state import Record, State, changed_files, foreign_files, load_state, save_state
from muster.config.template import IMAGE_BASED_CONFIG_TEMPLATE, IMAGE_BASED_INSTALLATION_TEMPLATE
from muster.errors import UserError, cannot
from muster.files import back_up, save_file, save_new_file
from muster.image.ignition.model import render_tree
from muster.image.image_based.installation import POST_SCRIPT, installation_tree
from muster.image.image_based.media import CONFIG_ISO, build_config_media
from muster.image.kept import find_secrets, load_secrets
from muster.image.secrets import SiteSecrets, check_spec, dump_secrets, make_secrets
from muster.model.pki import KeySpec
from muster.model.site import Site

IGNITION: Final = "rhcos-ibi.ign"


@click.group("image-based", epilog=options.examples("muster image-based create config-image --dir mysite"))
def image_based() -> None:
    """Make media for an image-based installation: a seed is copied instead of installed."""


@image_based.group(epilog=options.examples("muster image-based create config-template --dir mysite"))
def create() -> None:
    """Create files in the site's directory. Inputs are never changed or removed."""


@create.command(
    "image-config-template",
    epilog=options.examples("muster image-based create image-config-template --dir factory"),
)
@options.site_options
def image_config_template(directory: str | None, log_level: str | None, output_format: str) -> None:
    """Write a commented image-based-installation-config.yaml. A file that exists is never touched."""
    run = options.begin(directory, log_level, output_format)
    _save_template(run, "image-based-installation-config.yaml", IMAGE_BASED_INSTALLATION_TEMPLATE)


@create.command(
    "config-template", epilog=options.examples("muster image-based create config-template --dir mysite")
)
@options.site_options
def config_template(directory: str | None, log_level: str | None, output_format: str) -> None:
    """Write a commented image-based-config.yaml to start from. A file that exists is never touched."""
    run = options.begin(directory, log_level, output_format)
    _save_template(run, "image-based-config.yaml", IMAGE_BASED_CONFIG_TEMPLATE)


def _save_template(run: Run, name: str, text: str) -> None:
    path = run.directory / name
    if not save_new_file(path, text.encode(), mode=0o600):
        raise UserError(
            f"{path} exists already and was not touched",
            hint="name another directory with --dir, or move the file away first",
        )
    if run.as_json:
        click.echo(json.dumps({"created": [str(path)]}, indent=2))
    else:
        click.echo(f"{path} created; fill it in, then run `muster check --dir {run.directory}`")


@create.command(
    "image", epilog=options.examples("muster image-based create image --dir factory --ignition-only")
)
@options.site_options
@click.option("--ignition-only", is_flag=True, help=f"Write the Ignition config alone, as {IGNITION}.")
def image(directory: str | None, log_level: str | None, output_format: str, *, ignition_only: bool) -> None:
    """Make the live system that writes a seed to the disk of its machine.

    Reads image-based-installation-config.yaml, and post.sh beside it, which is run when the seed is on the
    disk.
    """
    run = options.begin(directory, log_level, output_format)
    hint = "`muster image-based create image-config-template` writes one to start from"
    site.require_files(run, ("image-based-installation-config.yaml",), hint)
    found = site.load_valid_site(run)
    tree, replaced = installation_tree(resolve_installation(found), _post_script(run.directory))
    log.note("replaced by ignitionConfigOverride: %s", replaced)
    if not ignition_only:
        raise UserError(
            "this version of Muster cannot put the Ignition config into a base image yet",
            hint=f"use --ignition-only, and embed {IGNITION} with `coreos-installer iso ignition embed`",
        )
    path = run.directory / IGNITION
    save_file(path, render_tree(tree), mode=0o600)
    if run.as_json:
        click.echo(json.dumps({"created": [str(path)], "replaced": list(replaced)}, indent=2))
    else:
        click.echo(
            "\n".join([f"{path} written", *(f"ignitionConfigOverride replaced {each}" for each in replaced)])
        )


def _post_script(directory: Path) -> bytes:
    path = directory / POST_SCRIPT
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise cannot("read", path, error) from error


@create.command(
    "config-image",
    epilog=options.examples(
        "muster image-based create config-image --dir mysite",
        "muster image-based create config-image --dir copy --secrets mysite    # the same cluster again",
    ),
)
@options.site_options
@click.option(
    "--secrets",
    "secrets_of",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="Use the secrets of another directory, or of a copy of its state file.",
)
@click.option("--force", is_flag=True, help="Replace files that were changed by hand (a backup is kept).")
def config_image(
    directory: str | None, log_level: str | None, output_format: str, *, secrets_of: Path | None, force: bool
) -> None:
    """Make the ISO that turns the copy of a seed into the cluster of this site.

    Writes imagebasedconfig.iso, auth/kubeconfig and auth/kubeadmin-password. Keys and password are made once
    and kept in .muster_state.json: the same files give the same bytes again, and a kubeconfig stays valid.
    """
    run = options.begin(directory, log_level, output_format)
    site.require_files(run, CONFIG_FILES, CONFIG_HINT)
    found = site.load_valid_site(run)
    plan = resolve_configuration(found)
    state = load_state(run.directory)
    secrets = _settle_secrets(state, run.directory, secrets_of, plan.signer_key)
    inputs = _inputs(found, secrets)
    record = state.media.get(CONFIG_ISO)
    changes = list(record.changes(run.directory, inputs)) if record else []
    if record is not None and not changes:
        _tell(run, [], changes, [])
        return
    files = build_config_media(plan, secrets)
    foreign = foreign_files(run.directory, record, files)
    if foreign and not force:
        raise UserError(
            f"not written by Muster, or changed since: {', '.join(foreign)}",
            hint="move them away, or replace them with --force (a backup is kept)",
        )
    backups = [str(back_up(run.directory / name)) for name in foreign]
    written = _save(run.directory, state, files, secrets, inputs)
    _tell(run, written, changes, backups)


def _settle_secrets(state: State, directory: Path, secrets_of: Path | None, spec: KeySpec) -> SiteSecrets:
    """The secrets that are named, or kept, or new ones."""
    if secrets_of is not None:
        secrets: SiteSecrets | None = load_secrets(secrets_of)
    else:
        secrets = find_secrets(state, directory)
    if secrets is None:
        return make_secrets(os.urandom, datetime.now(UTC), spec)
    check_spec(secrets, spec, str(secrets_of or directory))
    return secrets


def _inputs(found: Site, secrets: SiteSecrets) -> dict[str, str]:
    """Digests of all that decides the bytes, by a name for people."""
    texts = {source.name: source.text for source in found.sources}
    texts["the secrets"] = json.dumps(dump_secrets(secrets), sort_keys=True)
    texts["the version of Muster"] = __version__
    return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}


def _save(
    directory: Path, state: State, files: dict[str, bytes], secrets: SiteSecrets, inputs: dict[str, str]
) -> list[str]:
    """Write what changed. The secrets are kept first: an ISO without them could not be made again."""
    if state.secrets != dump_secrets(secrets):
        state = State(state.outputs, dump_secrets(secrets), state.media)
        save_state(directory, state)
    written = changed_files(directory, files)
    for name in written:
        save_file(directory / name, files[name], mode=0o600)
    save_state(directory, state.with_medium(CONFIG_ISO, Record.of(directory, inputs, files)))
    return written


def _tell(run: Run, written: list[str], changes: list[str], backups: list[str]) -> None:
    log.note("written: %s; because: %s; backups: %s", written, changes, backups)
    if run.as_json:
        body = {"created": written, "changes": changes, "backups": backups}
        click.echo(json.dumps(body, indent=2, ensure_ascii=False))
        return
    path, why = run.directory / CONFIG_ISO, "; ".join(changes)
    if written:
        lines = [f"{run.directory / name} written" for name in written]
        click.echo("\n".join([f"made anew: {why}", *lines] if why else lines))
    else:
        click.echo(
            f"{path} stays as it is, although {why}" if why else f"nothing has changed: {path} is up to date"
        )


create.add_command(config_images)
