# SPDX-License-Identifier: Apache-2.0
"""`muster image-based create ...`: media that copy a seed, and that make a site's cluster of the copy."""

from __future__ import annotations

import json
from typing import Final

import click

from muster.cli import options
from muster.cli.lazy import LazyGroup
from muster.cli.options import Run
from muster.config.template import IMAGE_BASED_CONFIG_TEMPLATE, IMAGE_BASED_INSTALLATION_TEMPLATE
from muster.errors import UserError
from muster.files import save_new_file

_VERBS: Final = {
    "image": ("seed_image:image", "Make the ISO that writes a seed to the disk of its machine."),
    "config-image": ("config_iso:config_image", "Make the ISO that turns the copy into a site's cluster."),
    "config-images": ("fleet:config_images", "Make such ISOs for many sites, from a table."),
}


@click.group("image-based", epilog=options.examples("muster image-based create config-image --dir mysite"))
def image_based() -> None:
    """Make media for an image-based installation: a seed is copied instead of installed."""


@image_based.group(
    cls=LazyGroup,
    verbs=_VERBS,
    epilog=options.examples("muster image-based create config-image --dir mysite"),
)
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
