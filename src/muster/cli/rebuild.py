# SPDX-License-Identifier: Apache-2.0
"""Makes a medium again, without writing it, and compares: what `muster media verify --rebuild` does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from muster.cli import base_image as base_images
from muster.cli import progress, site
from muster.cli.config_iso import CONFIG_FILES, CONFIG_HINT
from muster.cli.medium import read_text
from muster.cli.options import BaseImageFlags, Run
from muster.cli.wish import pin_plan, pinned_sources, settle_release, wish_of
from muster.config.resolve_image_based import resolve_configuration
from muster.config.state import load_state
from muster.errors import MediaError, UserError
from muster.frozen import dataclass
from muster.image.agent import Order, config_iso
from muster.image.agent_media import design_image
from muster.image.compare import explain_difference, first_difference
from muster.image.coreos.customize import read_contents
from muster.image.ignition.merge import list_entries
from muster.image.ignition.unconfigured import CONFIG_LABEL
from muster.image.image_based.config import LABEL as CLUSTER_CONFIG_LABEL
from muster.image.image_based.media import CONFIG_ISO, build_config_media
from muster.image.iso.volume import Volume
from muster.image.kept import find_secrets
from muster.image.overlay import Overlay
from muster.image.product import Source
from muster.image.reading import parse_ignition, text_of
from muster.image.secrets import SiteSecrets
from muster.image.tokens import parse_validity
from muster.model.medium import RELEASE_FOLDER
from muster.model.plan import Plan

_OTHERS: Final[Mapping[str, str]] = {
    "muster-config-image@.service": "an image for hosts of any site",
    "install-rhcos-and-restore-seed.service": "an image that installs a seed",
    "muster-replace.service": "an image that replaces a lost host",
}
"""What media are, by a unit that only they have."""


@dataclass(frozen=True)
class Rebuild:
    """What a medium is made from again."""

    directory: Path
    base_image: BaseImageFlags
    valid_for: str
    ignition_override: Path | None


def compare_with_site(medium: Path, rebuild: Rebuild) -> tuple[bool, str]:
    """Whether a medium is what a site's directory gives, and if not, the first thing that differs."""
    with Volume.open(medium) as found:
        if found.label == CLUSTER_CONFIG_LABEL:
            return _compare_data(found, _cluster_config(rebuild.directory), rebuild.directory)
        _refuse_other(found)
        run = Run(rebuild.directory, as_json=False)
        loaded, plan = site.load_cluster(run, rebuild.base_image)
        settled = settle_release(rebuild.base_image, loaded, plan)
        order = _order(rebuild, pin_plan(run, rebuild.base_image, loaded, settled))
        if found.label == CONFIG_LABEL:
            return _compare_data(found, config_iso(order), rebuild.directory)
        flags, wish = pinned_sources(
            rebuild.base_image, wish_of(loaded, order.plan), order.plan.release_image
        )
        with base_images.open_cache(flags.cache_dir) as cache:
            base = base_images.obtain(flags, cache, wish)
            with Volume.open(base.path) as volume:
                is_carried = found.find_folder(RELEASE_FOLDER) and not volume.find_folder(RELEASE_FOLDER)
                added = _added(volume, flags, wish, order.plan) if is_carried else None
                source = Source(base, volume, cache, added=added)
                design = design_image(order, source.image)
                return _compare(found, design.result, source.whole(design.overlay), rebuild.directory)


def _added(base: Volume, flags: BaseImageFlags, wish: base_images.Wish, plan: Plan) -> Overlay:
    """The release that a medium carries."""
    from muster.cli.embedding import find_release

    return find_release(flags, wish, plan.release_image).added_to(base)


def _order(rebuild: Rebuild, plan: Plan) -> Order:
    override = read_text(rebuild.ignition_override)
    return Order(plan, _secrets(rebuild.directory), parse_validity(rebuild.valid_for), override)


def _cluster_config(directory: Path) -> bytes:
    run = Run(directory, as_json=False)
    site.require_files(run, CONFIG_FILES, CONFIG_HINT)
    plan = resolve_configuration(site.load_valid_site(run))
    return build_config_media(plan, _secrets(directory))[CONFIG_ISO]


def _secrets(directory: Path) -> SiteSecrets:
    secrets = find_secrets(load_state(directory), directory)
    if secrets is None:
        raise UserError(
            f"{directory} has no secrets, so no medium was made there",
            hint="name the directory that the medium was made in",
        )
    return secrets


def _refuse_other(found: Volume) -> None:
    """Media that are not made of a site's plan and secrets; compared with one, they would seem forged."""
    try:
        tree = parse_ignition(read_contents(found).ignition or b"{}", found.name)
    except MediaError:
        return  # A configuration ISO, or one that is damaged: the comparison tells where.
    for unit in list_entries(tree, "systemd", "units"):
        kind = _OTHERS.get(text_of(unit, "name"))
        if kind:
            raise UserError(
                f"{found.name} is {kind}, which --rebuild cannot make again",
                hint="it knows agent.*.iso, agentconfig.noarch.iso and imagebasedconfig.iso;"
                " leave --rebuild out to compare this one with its checksum",
            )


def _compare_data(found: Volume, data: bytes, directory: Path) -> tuple[bool, str]:
    wanted = Volume("the rebuilt medium", lambda at, length: data[at : at + length], len(data))
    return _compare(found, wanted, None, directory)


def _compare(found: Volume, wanted: Volume, overlay: Overlay | None, directory: Path) -> tuple[bool, str]:
    size = min(found.file_size, wanted.file_size)
    with progress.bar(f"comparing {found.name}", total=size) as advance:
        offset = first_difference(found.read, wanted.read, size, advance)
    if offset is not None:
        what = explain_difference(found, wanted, overlay, offset)
        return False, f"{found.name} differs from what {directory} gives at byte {offset}, {what}"
    if found.file_size < wanted.file_size:
        return False, f"{found.name} ends after {size} bytes of {wanted.file_size}"
    behind = found.file_size - size
    rest = f"; the {behind} bytes behind it, as a stick has them, were not looked at" if behind else ""
    return True, f"{found.name} is, byte for byte, what {directory} gives{rest}"
