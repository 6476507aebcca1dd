# SPDX-License-Identifier: Apache-2.0
"""What the verbs that build media do about the base image: flags, site, cache and network put together.

    with base_image.open_cache(flags.cache_dir) as cache:
        image = base_image.obtain(flags, cache, wish)

It is the image that is named, by flag or environment; else that of the release; and of Muster's own release
when the site names none.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from muster.cli import progress
from muster.cli.access import SiteAccess, load_bundle
from muster.cli.options import OS_IMAGE_OVERRIDE, BaseImageFlags
from muster.errors import UserError
from muster.frozen import dataclass
from muster.image.base_image import BaseImage, obtain_base_image
from muster.image.cache.places import find_cache_root
from muster.image.cache.store import Cache
from muster.image.coreos.customize import read_contents
from muster.image.iso.volume import Volume
from muster.image.source import parse_source

if TYPE_CHECKING:
    from muster.image.download.http import Reply

_logger: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class Wish:
    """What a site says about its base image."""

    release: str = ""
    """The release image that it names; empty when it names none."""
    architecture: str = "amd64"
    """As Go names it."""
    stream: str = ""
    """The line of operating system images that it names; empty for the release's default."""
    access: SiteAccess = field(default_factory=SiteAccess)
    add_ons: tuple[str, ...] = ()
    """What it wants of its release besides."""
    has_default: bool = False
    """Whether hosts boot Muster's machine OS when no release is named."""


def open_cache(cache_dir: str | None) -> Cache:
    """The cache that the flag, or else the environment, names."""
    return Cache(find_cache_root(cache_dir, os.environ, Path.home))


def obtain(flags: BaseImageFlags, cache: Cache, wish: Wish | None = None) -> BaseImage:
    """The base image that was asked for."""
    wish = wish or Wish()
    if flags.source:
        return _named(flags, cache, wish)
    if flags.release or wish.release:
        from muster.cli.release_base import obtain_from_release

        return _checked(flags, obtain_from_release(flags, cache, wish))
    if wish.has_default:
        from muster.cli.release_base import obtain_machine_os

        return _checked(flags, obtain_machine_os(flags, cache, wish.architecture))
    raise UserError(
        "no base image is named",
        hint=f"name a live ISO with --base-image (a path or a URL), a release with --release, or set"
        f" {OS_IMAGE_OVERRIDE}",
    )


def _named(flags: BaseImageFlags, cache: Cache, wish: Wish) -> BaseImage:
    assert flags.source
    if flags.is_overridden:
        shown = parse_source(flags.source).shown
        _logger.warning("%s is set: %s is used, which may not fit the release", OS_IMAGE_OVERRIDE, shown)
    trusted = [*wish.access.authorities, *load_bundle(flags.ca_bundle)]

    def fetch(url: str, headers: Mapping[str, str]) -> AbstractContextManager[Reply]:
        from muster.image.download.http import http_fetch

        return http_fetch(trusted)(url, headers)

    return obtain_base_image(flags.source, cache=cache, fetch=fetch, progress=progress, sha256=flags.sha256)


def _checked(flags: BaseImageFlags, image: BaseImage) -> BaseImage:
    """What --base-image-sha256 says holds wherever the image comes from."""
    from muster.image.source import parse_sha256

    if flags.sha256 and parse_sha256(flags.sha256) != image.sha256:
        raise UserError(
            f"{image.origin} has the sha256 {image.sha256}, expected {parse_sha256(flags.sha256)}",
            hint="correct --base-image-sha256, or leave it out: what comes from a release is verified anyway",
        )
    return image


def warn_customized(volume: Volume) -> None:
    """Say that what somebody put into the base image before does not become a part of the medium."""
    if read_contents(volume).is_customized:
        _logger.warning(
            "%s was customized before (Ignition, network or kernel arguments); the medium does not keep that",
            volume.name,
        )
