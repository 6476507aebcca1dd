# SPDX-License-Identifier: Apache-2.0
"""Base images that come out of a release: from the cache when it has them, else once, verified and kept.

The file is read out of its layer while that arrives. Nothing of it is used before the layer has the digest
that its manifest names, and the file the hash that lies beside it in the release.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from muster.errors import MediaError, UserError
from muster.frozen import dataclass
from muster.image.base_image import BaseImage
from muster.image.cache.places import key_of
from muster.image.cache.records import ImageRecord, UrlRecord, render_time
from muster.image.cache.store import Cache
from muster.image.iso.volume import check_volume
from muster.image.layer import KeptLayers
from muster.model.release import RPM_ARCHITECTURES
from muster.progress import Progress
from muster.release.kinds.description import LiveImage
from muster.release.kinds.openshift import find_stream_hash, parse_iso_hash
from muster.release.layers import Extracted, Pick, extract
from muster.release.oci.trouble import Damaged
from muster.release.ports import Source

_logger: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class Wanted:
    """A live ISO of a release."""

    live: LiveImage
    architecture: str
    """As Go names it."""
    release: str
    """The version, for messages."""

    @property
    def key(self) -> str:
        """What it is by: the image's digest, which says all, and what is wanted of it."""
        return f"release {self.live.part.image.digest} {self.architecture} {self.live.path}"

    @property
    def shown(self) -> str:
        return f"/{self.live.path} of {self.live.part.image}"


def find_kept(wanted: Wanted, cache: Cache, progress: Progress) -> BaseImage | None:
    """The base image, if it is in the cache; nobody is asked."""
    known = cache.find_url(wanted.key)
    found = cache.find_image(known.sha256, progress) if known and known.sha256 else None
    return _base_image(wanted, cache, found) if found else None


def obtain(wanted: Wanted, cache: Cache, progress: Progress, get: Callable[[], ImageRecord]) -> BaseImage:
    """The base image, in the cache; ``get`` brings it there (`fetch`) while nobody else does.

    Not asynchronous: who waits for another process can still be interrupted.
    """
    found = find_kept(wanted, cache, progress)
    if found is not None:
        _logger.debug("%s is in the cache", wanted.shown)
        return found
    cache.need_writable("extract the image yourself and give its path with --base-image")

    def tell(holder: str) -> None:
        who = f"process {holder}" if holder else "another process"
        _logger.info("%s is getting %s; waiting for it", who, wanted.shown)

    with cache.lock("url", key_of(wanted.key), tell):
        found = find_kept(wanted, cache, progress)
        if found is not None:
            return found
        _logger.info("getting the base image out of release %s", wanted.release)
        return _base_image(wanted, cache, get())


async def fetch(wanted: Wanted, source: Source, cache: Cache, progress: Progress) -> ImageRecord:
    """Bring the image into the cache. What an earlier run left may be bad: then it is tried once without."""
    kept = KeptLayers(source, cache)
    try:
        return await _extract(wanted, kept, cache, progress)
    except Damaged as error:
        inherited = kept.is_inherited
        kept.discard()
        if not inherited:
            raise
        _logger.warning("%s; what an earlier run left was bad, so it begins anew", error.message)
    return await _extract(wanted, kept, cache, progress)


async def _extract(wanted: Wanted, source: KeptLayers, cache: Cache, progress: Progress) -> ImageRecord:
    live = wanted.live
    to = cache.places.part(wanted.key).with_suffix(".unpacked")
    try:
        pick = Pick(live.path, to, (live.hash_path, live.stream_path))
        extracted = await extract(source, pick, architecture=wanted.architecture, progress=progress)
        _verify(wanted, extracted)
        check_volume(to, wanted.shown)
        record = cache.add_image(
            to,
            ImageRecord(sha256=extracted.sha256, size_bytes=extracted.size_bytes, origins=(wanted.shown,)),
        )
    except UserError:
        source.discard()  # Another try would find the same.
        raise
    finally:
        to.unlink(missing_ok=True)
    now = render_time(cache.clock())
    cache.save_url(wanted.key, UrlRecord(url=wanted.shown, sha256=record.sha256, checked_at=now))
    source.discard()
    return record


def _verify(wanted: Wanted, extracted: Extracted) -> None:
    """The digest of the layer was checked; what the release says of the file itself has to hold, too."""
    live = wanted.live
    where = f"/{live.hash_path} of {live.part.image}"
    data = extracted.beside.get(live.hash_path)
    if data is None:
        raise UserError(
            f"{where} is not there, so that the image cannot be verified",
            hint="take another release, or give the image yourself with --base-image",
        )
    _compare(wanted, extracted, parse_iso_hash(data, where), "beside it stands")
    stream = extracted.beside.get(live.stream_path, b"")
    published = find_stream_hash(stream, RPM_ARCHITECTURES.get(wanted.architecture, wanted.architecture))
    if published:
        _compare(wanted, extracted, published, f"/{live.stream_path} says")
    _logger.info("verified: digest of the layer, and sha256 of the image")


def _compare(wanted: Wanted, extracted: Extracted, expected: str, who: str) -> None:
    if expected != extracted.sha256:
        raise MediaError(
            f"{wanted.shown} has the sha256 {extracted.sha256}, but {who} {expected}",
            hint="the release contradicts itself; take another one, or ask whoever made it",
        )


def _base_image(wanted: Wanted, cache: Cache, record: ImageRecord) -> BaseImage:
    return BaseImage(cache.places.image(record.sha256), record.sha256, record.size_bytes, wanted.shown)
