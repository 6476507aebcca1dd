# SPDX-License-Identifier: Apache-2.0
"""`muster agent create cluster-manifests`: the site as Kubernetes objects."""

from __future__ import annotations

import json
from typing import Final

import click

from muster.cli import log, options, site
from muster.cli.options import Run
from muster.config.kinds import MANIFESTS_DIR
from muster.config.manifests import render_manifests
from muster.config.overrides import overrides_of
from muster.config.state import State, changed_files, load_state, save_state
from muster.errors import UserError
from muster.files import back_up, lock_folder, remove_file, save_file
from muster.model.plan import Plan
from muster.model.problem import Place
from muster.model.site import Site
from muster.model.tree import find, words_of

_LEFT_OUT: Final = (
    "left out, because the service that reads the manifests refuses what it does not know: %s. "
    "These settings hold only while install-config.yaml stays beside the manifests"
)


@click.command(
    "cluster-manifests", epilog=options.examples("muster agent create cluster-manifests --dir mysite")
)
@options.site_options
@click.option("--force", is_flag=True, help="Replace manifests that were changed by hand (a backup is kept).")
def cluster_manifests(
    directory: str | None, log_level: str | None, output_format: str, *, force: bool
) -> None:
    """Write the site as ZTP manifests. They go to cluster-manifests/ and mirror/.

    install-config.yaml and agent-config.yaml stay. Files that Muster did not write, or that were changed
    since, are not replaced without --force.
    """
    run = options.begin(directory, log_level, output_format)
    if not (run.directory / "install-config.yaml").exists() and (run.directory / MANIFESTS_DIR).is_dir():
        raise UserError(
            f"{run.directory} is described by {MANIFESTS_DIR}/ itself",
            hint="there is no install-config.yaml to make manifests from; use the ones that are there",
        )
    with lock_folder(run.directory):
        found, plan = site.load_cluster(run)
        left_out = _left_out(found, plan)
        state = load_state(run.directory)
        files = {name: text.encode() for name, text in render_manifests(plan).items()}
        foreign = [name for name, data in files.items() if state.is_foreign(run.directory, name, data)]
        if foreign and not force:
            raise UserError(
                f"not written by Muster, or changed since: {', '.join(foreign)}",
                hint="move them away, or replace them with --force (a backup is kept)",
            )
        done = _write(run, state, files, foreign)
    if left_out:
        log.warn(_LEFT_OUT, ", ".join(left_out))
    if run.as_json:
        click.echo(json.dumps({**done, "leftOut": left_out}, indent=2))
    elif done["created"] or done["removed"]:
        lines = [f"{run.directory / name} written" for name in done["created"]]
        lines += [f"{run.directory / name} removed: it is not needed any more" for name in done["removed"]]
        click.echo("\n".join(lines))
    else:
        click.echo("nothing has changed: the manifests are up to date")


def _write(run: Run, state: State, files: dict[str, bytes], foreign: list[str]) -> dict[str, list[str]]:
    """Make the directory hold these files, and tell what that took."""
    written = changed_files(run.directory, files)
    stale = [name for name in state.own(run.directory) if name not in files]
    backups = [str(back_up(run.directory / name)) for name in foreign]
    for name in written:
        save_file(run.directory / name, files[name], mode=0o600)
    for name in stale:
        remove_file(run.directory / name)
    save_state(run.directory, state.with_outputs(files))
    log.note("written: %s; removed: %s; backups: %s", written, stale, backups)
    unchanged = sorted(set(files) - set(written))
    return {"created": written, "unchanged": unchanged, "removed": stale, "backups": backups}


def _left_out(found: Site, plan: Plan) -> list[str]:
    """Settings that the manifests have no place for, with their lines in install-config.yaml."""
    assert found.install is not None
    root = found.install.node
    return [
        f"{words_of(path)} ({Place.of_key(find(root, path)).where})" for path in overrides_of(plan).left_out
    ]
