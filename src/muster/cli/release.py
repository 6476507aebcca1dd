# SPDX-License-Identifier: Apache-2.0
"""`muster release ...`: what is installed."""

from __future__ import annotations

from typing import Final

import click

from muster.cli import options
from muster.cli.lazy import LazyGroup

_VERBS: Final = {
    "build": ("release_build:build", "Build upstream Kubernetes from its sources as a release."),
    "info": ("release_look:info", "Show what a release holds: components, images, add-ons, sizes."),
    "verify": ("release_look:verify", "Check that all of a release is there, and right."),
    "extract": ("release_extract:extract", "Write one file of an image, without storing the image."),
    "sign": ("release_sign:sign", "Sign a release, so that hosts can check who made it."),
    "diff": ("release_look:diff", "Show what differs between two releases."),
    "mirror": ("release_mirror:mirror", "Copy a whole release, and prove that it is there."),
    "save": ("release_archive:save", "Write a whole release into one file."),
    "load": ("release_archive:load", "Bring a release from such a file into a store."),
}


@click.group(
    cls=LazyGroup,
    verbs=_VERBS,
    epilog=options.examples("muster release build --add-on all", "muster release info"),
)
def release() -> None:
    """Build and look at releases: sets of images by digest, with one image that lists them all.

    A release lies in a content store, a folder that any tool that knows OCI image layouts can read. Unless
    --store names another, that is one in the cache (`muster cache path`).
    """
