# SPDX-License-Identifier: Apache-2.0
"""`muster plan`: what will be installed, and where every value comes from."""

from __future__ import annotations

import json

import click

from muster.cli import options, site
from muster.config.show import plan_json, render_plan


@click.command(
    epilog=options.examples("muster plan --dir mysite", "muster plan --dir mysite --output json | jq .hosts")
)
@options.site_options
def plan(directory: str | None, log_level: str | None, output_format: str) -> None:
    """Show what will be installed: hosts, networks, addresses, release, and every derived default.

    The files are checked first; a site with errors has no plan (exit status 3).
    """
    run = options.begin(directory, log_level, output_format)
    _, resolved = site.load_cluster(run)
    if run.as_json:
        click.echo(json.dumps(plan_json(resolved), indent=2, ensure_ascii=False))
    else:
        click.echo(render_plan(resolved))
