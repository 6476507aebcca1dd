# SPDX-License-Identifier: Apache-2.0
"""`muster image-based create ...`: media that copy a seed, and that make a site's cluster of the copy."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

from muster.cli import base_image as base_images
from muster.cli import options, progress, site
from muster.cli.fleet import CONFIG_FILES, CONFIG_HINT, config_images
from muster.cli.medium import media_options, read_text, tell
from muster.cli.options import BaseImageFlags, Run
from muster.config.resolve_image_based import resolve_configuration, resolve_installation
from muster.config.template import IMAGE_BASED_CONFIG_TEMPLATE, IMAGE_BASED_INSTALLATION_TEMPLATE
from muster.errors import UserError, cannot
from muster.files import save_new_file
from muster.image.ignition.model import render_tree
from muster.image.image_based.image import ISO_NAME, build_installation_image
from muster.image.image_based.installation import POST_SCRIPT, installation_tree
from muster.image.image_based.media import CONFIG_ISO, build_config_media
from muster.image.iso.volume import Volume
from muster.image.making import Making, Manner, digest_inputs, start_making
from muster.image.product import Source

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
    "image",
    epilog=options.examples(
        "muster image-based create image --dir factory --base-image rhcos-live.iso",
        "muster image-based create image --dir factory --ignition-only",
    ),
)
@options.site_options
@media_options
@options.base_image
@click.option("--ignition-only", is_flag=True, help=f"Write the Ignition config alone, as {IGNITION}.")
def image(
    directory: str | None, log_level: str | None, output_format: str, base_image: BaseImageFlags, **more: Any
) -> None:
    """Make the ISO that writes a seed to the disk of its machine.

    Reads image-based-installation-config.yaml, and post.sh beside it, which is run when the seed is on the
    disk. Writes rhcos-ibi.iso with its checksum and bill of materials.
    """
    run = options.begin(directory, log_level, output_format)
    hint = "`muster image-based create image-config-template` writes one to start from"
    site.require_files(run, ("image-based-installation-config.yaml",), hint)
    found = site.load_valid_site(run)
    plan = resolve_installation(found)
    tree, replaced = installation_tree(plan, _post_script(run.directory))
    manner: Manner = more["manner"]
    name = IGNITION if more["ignition_only"] else ISO_NAME
    lines = [f"ignitionConfigOverride replaced {place}" for place in replaced]
    with start_making(run.directory, name, manner) as making:
        inputs = digest_inputs(found, None, {"post.sh": _post_script(run.directory).decode("latin-1")})
        if name == IGNITION:
            _make_ignition(making, inputs, render_tree(tree))
        else:
            with base_images.open_cache(base_image.cache_dir) as cache:
                trusted = [plan.trust_bundle] if plan.trust_bundle else []
                base = base_images.obtain(base_image, cache, trusted)
                signer = read_text(manner.sign_key)
                if not making.is_current({**inputs, "the base image": base.sha256, "--sign-key": signer}):
                    with Volume.open(base.path) as volume:
                        source = Source(base, volume, cache)
                        build_installation_image(making, source, plan, render_tree(tree), progress)
                    making.finish()
        tell(run, making, lines, replaced=list(replaced))


def _make_ignition(making: Making, inputs: Mapping[str, str], data: bytes) -> None:
    if not making.is_current(inputs):
        making.begin(None, (IGNITION,))
        making.save(IGNITION, data)
        making.finish()


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
    with start_making(run.directory, CONFIG_ISO, Manner(secrets_of, force=force)) as making:
        secrets = making.settle_secrets(plan.signer_key)
        if not making.is_current(digest_inputs(found, secrets, {})):
            files = build_config_media(plan, secrets)
            making.begin(secrets, tuple(files))
            for name, data in files.items():
                making.save(name, data)
            making.finish()
        tell(run, making, ["next: attach it to the machine that has the seed on its disk"])


create.add_command(config_images)
