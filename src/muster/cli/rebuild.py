# SPDX-License-Identifier: Apache-2.0
"""Makes a medium again, without writing it, and compares: what `muster media verify --rebuild` does."""

from __future__ import annotations

from pathlib import Path

from muster.cli import base_image as base_images
from muster.cli import log, progress, site
from muster.cli.medium import read_text
from muster.cli.options import BaseImageFlags, Run
from muster.config.state import load_state
from muster.errors import UserError
from muster.frozen import dataclass
from muster.image.agent import Order, config_iso
from muster.image.agent_media import design_image
from muster.image.compare import explain_difference, first_difference
from muster.image.ignition.unconfigured import CONFIG_LABEL
from muster.image.iso.volume import Volume
from muster.image.kept import find_secrets
from muster.image.overlay import Overlay
from muster.image.tokens import parse_duration


@dataclass(frozen=True)
class Rebuild:
    """What a medium is made from again."""

    directory: Path
    base_image: BaseImageFlags
    valid_for: str
    ignition_override: Path | None


def compare_with_site(medium: Path, rebuild: Rebuild) -> tuple[bool, str]:
    """Whether a medium is what a site's directory gives, and if not, the first thing that differs."""
    directory, base_image = rebuild.directory, rebuild.base_image
    _, plan = site.load_cluster(Run(directory, as_json=False))
    secrets = find_secrets(load_state(directory), directory)
    if secrets is None:
        raise UserError(
            f"{directory} has no secrets, so no medium was made there",
            hint="name the directory that the medium was made in",
        )
    override = read_text(rebuild.ignition_override)
    order = Order(plan, secrets, parse_duration(rebuild.valid_for), override)
    with Volume.open(medium) as found:
        if found.label == CONFIG_LABEL:
            data = config_iso(order)
            wanted = Volume("the rebuilt medium", lambda at, length: data[at : at + length], len(data))
            return _compare(found, wanted, Overlay(len(data), len(data)), directory)
        with base_images.open_cache(base_image.cache_dir) as cache:
            base = base_images.obtain(base_image, cache)
            with Volume.open(base.path) as volume:
                design = design_image(order, volume)
                return _compare(found, design.result, design.overlay, directory)


def _compare(found: Volume, wanted: Volume, overlay: Overlay, directory: Path) -> tuple[bool, str]:
    if found.file_size != wanted.file_size:
        log.note("%s has %d bytes, rebuilt %d", found.name, found.file_size, wanted.file_size)
    size = min(found.file_size, wanted.file_size)
    with progress.bar(f"comparing {found.name}", total=size) as advance:
        offset = first_difference(found.read, wanted.read, size, advance)
    if offset is not None:
        what = explain_difference(found, wanted, overlay, offset)
        return False, f"{found.name} differs from what {directory} gives at byte {offset}, {what}"
    if found.file_size > size:
        return False, f"{found.name} goes on after the {size} bytes that {directory} gives"
    if found.file_size < wanted.file_size:
        return False, f"{found.name} ends after {size} bytes of {wanted.file_size}"
    return True, f"{found.name} is, byte for byte, what {directory} gives"
