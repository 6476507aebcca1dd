# SPDX-License-Identifier: Apache-2.0
"""`muster agent timeline`: where the time of an installation went, as long as its service answers."""

from __future__ import annotations

import json

import click
import msgspec

from muster.cli import options
from muster.cli.loop import run_async
from muster.cli.wait_for import Sought, seek
from muster.client.phases import Course, render_spent, spent_by
from muster.client.presence import Goal
from muster.client.watching import open_watcher
from muster.errors import ExternalError


@click.command(
    "timeline",
    epilog=options.examples(
        "muster agent timeline --dir mysite", "muster lab exec -- muster agent timeline --dir mysite"
    ),
)
@options.site_options
def timeline(directory: str | None, log_level: str | None, output_format: str) -> None:
    """Show how long each host took for each phase of the installation.

    The service tells it from its log: while it installs, and for ten minutes after the cluster is complete.
    """
    run = options.begin(directory, log_level, output_format)
    sought = seek(run, Goal.INSTALL, 0.0)
    course = run_async(lambda: _ask(sought))
    if course is None:
        raise ExternalError(
            f"the service at {sought.target.url} does not tell what happened",
            hint="it answers from the first host that boots until ten minutes after the cluster is complete",
        )
    if run.as_json:
        body = {"course": msgspec.to_builtins(course), "seconds": spent_by(course)}
        click.echo(json.dumps(body, indent=2, ensure_ascii=False))
    else:
        click.echo(render_spent(course))


async def _ask(sought: Sought) -> Course | None:
    async with open_watcher(sought.target, sought.authority, sought.secrets.cluster_id) as watcher:
        return await watcher.course()
