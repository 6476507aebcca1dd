# SPDX-License-Identifier: Apache-2.0
"""`... create *-template`: commented files to start from. A file that exists is never touched."""

from __future__ import annotations

import json

import click

from muster.cli import options
from muster.config.template import (
    AGENT_CONFIG_TEMPLATE,
    IMAGE_BASED_CONFIG_TEMPLATE,
    IMAGE_BASED_INSTALLATION_TEMPLATE,
)
from muster.errors import UserError
from muster.files import save_new_file


@click.command(
    "agent-config-template", epilog=options.examples("muster agent create agent-config-template --dir mysite")
)
@options.site_options
def agent_config_template(directory: str | None, log_level: str | None, output_format: str) -> None:
    """Write a commented agent-config.yaml to start from. A file that exists is never touched."""
    run = options.begin(directory, log_level, output_format)
    _save(run, "agent-config.yaml", AGENT_CONFIG_TEMPLATE)


@click.command(
    "image-config-template",
    epilog=options.examples("muster image-based create image-config-template --dir factory"),
)
@options.site_options
def image_config_template(directory: str | None, log_level: str | None, output_format: str) -> None:
    """Write a commented image-based-installation-config.yaml. A file that exists is never touched."""
    run = options.begin(directory, log_level, output_format)
    _save(run, "image-based-installation-config.yaml", IMAGE_BASED_INSTALLATION_TEMPLATE)


@click.command(
    "config-template", epilog=options.examples("muster image-based create config-template --dir mysite")
)
@options.site_options
def config_template(directory: str | None, log_level: str | None, output_format: str) -> None:
    """Write a commented image-based-config.yaml to start from. A file that exists is never touched."""
    run = options.begin(directory, log_level, output_format)
    _save(run, "image-based-config.yaml", IMAGE_BASED_CONFIG_TEMPLATE)


def _save(run: options.Run, name: str, text: str) -> None:
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
