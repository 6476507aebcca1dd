# SPDX-License-Identifier: Apache-2.0
"""`muster agent create ...`: what an agent-based installation is made from."""

from __future__ import annotations

import json
from typing import Final

import click

from muster.cli import log, options, site
from muster.cli.lazy import LazyGroup
from muster.config.kinds import MANIFESTS_DIR
from muster.config.manifests import render_manifests
from muster.config.state import changed_files, load_state, save_state
from muster.config.template import AGENT_CONFIG_TEMPLATE
from muster.errors import UserError
from muster.files import back_up, remove_file, save_file, save_new_file


@click.group(epilog=options.examples("muster agent create cluster-manifests --dir mysite"))
def agent() -> None:
    """Make media and manifests for an agent-based installation."""


_VERBS: Final = {
    "image": ("agent_media:image", "Make the ISO that all hosts of the site boot."),
    "pxe-files": ("agent_media:pxe_files", "Make the files for hosts that boot from the network."),
    "config-image": ("agent_media:config_image", "Make the ISO that configures hosts of a generic image."),
    "unconfigured-image": ("agent_media:unconfigured_image", "Make an ISO for hosts of any site."),
    "unconfigured-ignition": (
        "agent_media:unconfigured_ignition",
        "Write the Ignition config of hosts that know no site yet.",
    ),
}


@agent.group(
    cls=LazyGroup,
    verbs=_VERBS,
    epilog=options.examples("muster agent create image --dir mysite --base-image live.iso"),
)
def create() -> None:
    """Create files in the site's directory. Inputs are never changed or removed."""


@create.command(
    "agent-config-template", epilog=options.examples("muster agent create agent-config-template --dir mysite")
)
@options.site_options
def agent_config_template(directory: str | None, log_level: str | None, output_format: str) -> None:
    """Write a commented agent-config.yaml to start from. A file that exists is never touched."""
    run = options.begin(directory, log_level, output_format)
    path = run.directory / "agent-config.yaml"
    if not save_new_file(path, AGENT_CONFIG_TEMPLATE.encode(), mode=0o600):
        raise UserError(
            f"{path} exists already and was not touched",
            hint="name another directory with --dir, or move the file away first",
        )
    if run.as_json:
        click.echo(json.dumps({"created": [str(path)]}, indent=2))
    else:
        click.echo(f"{path} created; fill it in, then run `muster check --dir {run.directory}`")


@create.command(
    "cluster-manifests", epilog=options.examples("muster agent create cluster-manifests --dir mysite")
)
@options.site_options
@click.option("--force", is_flag=True, help="Replace manifests that were changed by hand (a backup is kept).")
def cluster_manifests(
    directory: str | None, log_level: str | None, output_format: str, *, force: bool
) -> None:
    """Write the site as ZTP manifests: cluster-manifests/ and mirror/.

    install-config.yaml and agent-config.yaml stay. Files that Muster did not write, or that were changed
    since, are not replaced without --force.
    """
    run = options.begin(directory, log_level, output_format)
    if not (run.directory / "install-config.yaml").exists() and (run.directory / MANIFESTS_DIR).is_dir():
        raise UserError(
            f"{run.directory} is described by {MANIFESTS_DIR}/ itself",
            hint="there is no install-config.yaml to make manifests from; use the ones that are there",
        )
    plan = site.load_plan(run)
    state = load_state(run.directory)
    files = {name: text.encode() for name, text in render_manifests(plan).items()}
    foreign = [name for name, data in files.items() if state.is_foreign(run.directory, name, data)]
    if foreign and not force:
        raise UserError(
            f"not written by Muster, or changed since: {', '.join(foreign)}",
            hint="move them away, or replace them with --force (a backup is kept)",
        )
    written = changed_files(run.directory, files)
    stale = [name for name in state.own(run.directory) if name not in files]
    backups = [str(back_up(run.directory / name)) for name in foreign]
    for name in written:
        save_file(run.directory / name, files[name], mode=0o600)
    for name in stale:
        remove_file(run.directory / name)
    save_state(run.directory, state.with_outputs(files))
    log.note("written: %s; removed: %s; backups: %s", written, stale, backups)
    if run.as_json:
        unchanged = sorted(set(files) - set(written))
        body = {"created": written, "unchanged": unchanged, "removed": stale, "backups": backups}
        click.echo(json.dumps(body, indent=2))
    elif written or stale:
        lines = [f"{run.directory / name} written" for name in written]
        lines += [f"{run.directory / name} removed: it is not needed any more" for name in stale]
        click.echo("\n".join(lines))
    else:
        click.echo("nothing has changed: the manifests are up to date")
