# SPDX-License-Identifier: Apache-2.0
"""`muster image-based create ...`: media that copy a seed, and that make a site's cluster of the copy."""

from __future__ import annotations

from typing import Final

import click

from muster.cli import options
from muster.cli.lazy import LazyGroup

_VERBS: Final = {
    "image": ("seed_image:image", "Make the ISO that writes a seed to the disk of its machine."),
    "config-image": ("config_iso:config_image", "Make the ISO that turns the copy into a site's cluster."),
    "config-images": ("fleet:config_images", "Make such ISOs for many sites, from a table."),
    "image-config-template": (
        "templates:image_config_template",
        "Write a commented image-based-installation-config.yaml.",
    ),
    "config-template": ("templates:config_template", "Write a commented image-based-config.yaml."),
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
