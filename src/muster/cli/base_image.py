# SPDX-License-Identifier: Apache-2.0
"""What the verbs that build media do about the base image: the flags, the cache and the network put together.

with base_image.open_cache(flags.cache_dir) as cache:
    image = base_image.obtain(flags, cache)
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from muster.cli import progress
from muster.cli.options import OS_IMAGE_OVERRIDE, BaseImageFlags
from muster.errors import UserError, cannot
from muster.image.base_image import BaseImage, obtain_base_image
from muster.image.cache.places import find_cache_root
from muster.image.cache.store import Cache
from muster.image.coreos.customize import read_contents
from muster.image.iso.volume import Volume
from muster.image.source import parse_source

if TYPE_CHECKING:
    from muster.image.download.http import Reply

_logger: Final = logging.getLogger(__name__)


def open_cache(cache_dir: str | None) -> Cache:
    """The cache that the flag, or else the environment, names."""
    return Cache(find_cache_root(cache_dir, os.environ, Path.home))


def obtain(flags: BaseImageFlags, cache: Cache, authorities: Sequence[str] = ()) -> BaseImage:
    """The base image that was asked for; ``authorities`` are those of the site, as texts in PEM form."""
    if not flags.source:
        raise UserError(
            "no base image is named",
            hint=f"name a live ISO with --base-image (a path or a URL), or set {OS_IMAGE_OVERRIDE}",
        )
    if flags.is_overridden:
        shown = parse_source(flags.source).shown
        _logger.warning("%s is set: %s is used, which may not fit the release", OS_IMAGE_OVERRIDE, shown)
    trusted = [*authorities, *_bundle(flags.ca_bundle)]

    def fetch(url: str, headers: Mapping[str, str]) -> AbstractContextManager[Reply]:
        from muster.image.download.http import http_fetch

        return http_fetch(trusted)(url, headers)

    return obtain_base_image(flags.source, cache=cache, fetch=fetch, progress=progress, sha256=flags.sha256)


def warn_customized(volume: Volume) -> None:
    """Say that what somebody put into the base image before does not become a part of the medium."""
    if read_contents(volume).is_customized:
        _logger.warning(
            "%s was customized before (Ignition, network or kernel arguments); the medium does not keep that",
            volume.name,
        )


def _bundle(path: Path | None) -> list[str]:
    if path is None:
        return []
    try:
        text = path.read_text("utf-8", "replace")
    except OSError as error:
        raise cannot("read", path, error) from error
    if "-----BEGIN CERTIFICATE-----" not in text:
        raise UserError(f"{path} has no certificate in it", hint="--ca-bundle takes certificates in PEM form")
    return [text]
