# SPDX-License-Identifier: Apache-2.0
"""`muster image-based create image`: the ISO that writes a seed to the disk of its machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

from muster.cli import base_image as base_images
from muster.cli import options, progress, site
from muster.cli.medium import media_options, read_text, tell
from muster.cli.options import BaseImageFlags
from muster.cli.wish import wish_of_seed
from muster.config.resolve_image_based import resolve_installation
from muster.errors import cannot
from muster.image.image_based.image import ISO_NAME, build_installation_image
from muster.image.image_based.installation import POST_SCRIPT, installation_tree
from muster.image.iso.volume import Volume
from muster.image.making import Making, digest_inputs, start_making
from muster.image.manner import Manner
from muster.image.product import Source
from muster.model.ignition import render_tree

IGNITION: Final = "rhcos-ibi.ign"


@click.command(
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
    post_script = _post_script(run.directory)
    tree, replaced = installation_tree(plan, post_script)
    manner: Manner = more["manner"]
    name = IGNITION if more["ignition_only"] else ISO_NAME
    lines = [f"ignitionConfigOverride replaced {place}" for place in replaced]
    with start_making(run.directory, name, manner) as making:
        given = {POST_SCRIPT: post_script.decode("latin-1")}
        if name == IGNITION:
            _make_ignition(making, digest_inputs(found, None, given), render_tree(tree))
        else:
            with base_images.open_cache(base_image.cache_dir) as cache:
                base = base_images.obtain(base_image, cache, wish_of_seed(plan))
                given |= {"the base image": base.sha256, **_papers(manner)}
                if not making.is_current(digest_inputs(found, None, given)):
                    with Volume.open(base.path) as volume:
                        base_images.warn_customized(volume)
                        source = Source(base, volume, cache)
                        build_installation_image(making, source, plan, render_tree(tree), progress)
                    making.finish()
        tell(run, making, lines, replaced=list(replaced))


def _papers(manner: Manner) -> dict[str, str]:
    """What the flags say about the files beside the image."""
    return {"--sign-key": read_text(manner.sign_key), "--sha256": str(manner.with_sha256)}


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
