# SPDX-License-Identifier: Apache-2.0
"""`muster version`."""

from __future__ import annotations

import json
import platform

import click

from muster import __version__
from muster.cli import options
from muster.cli.build import build_words, this_commit


@click.command(epilog=options.examples("muster version", "muster version --output json"))
@options.output
def version(output_format: str) -> None:
    """Print the version of Muster, its commit if it runs from a clone, and the version of Python."""
    facts = {"version": __version__, "commit": this_commit(), "python": platform.python_version()}
    if options.begin_without_site(output_format=output_format):
        click.echo(json.dumps(facts, indent=2))
    else:
        click.echo(f"muster {build_words()} (Python {facts['python']})")
