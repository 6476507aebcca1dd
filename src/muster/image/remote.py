# SPDX-License-Identifier: Apache-2.0
"""Base images behind a URL: from the cache when it has them, else fetched once, verified and kept."""

from __future__ import annotations

import logging
from contextlib import closing
from typing import Final

from muster.errors import ExternalError, UserError
from muster.image.cache.places import key_of
from muster.image.cache.records import ImageRecord, UrlRecord, render_time
from muster.image.cache.store import Cache
from muster.image.download.part import Arrived, Part
from muster.image.download.transfer import Target, Tools, download
from muster.image.download.trouble import refuse_status
from muster.image.iso.volume import check_volume
from muster.image.source import Remote, Source
from muster.lock import Lock
from muster.release.oci.trouble import Damaged, Unreachable

_logger: Final = logging.getLogger(__name__)


def obtain_remote(source: Source, remote: Remote) -> ImageRecord:
    """The image of a URL, in the cache."""
    cache = remote.cache
    if source.sha256:
        found = cache.find_image(source.sha256, remote.progress)
        if found is not None:
            _logger.debug("%s is in the cache", source.shown)
            return found
    else:
        _logger.warning(
            "%s cannot be verified: no sha256 is given; add ?sha256=... or --base-image-sha256", source.shown
        )
    cache.need_writable("download the image yourself and give its path")
    with _lock(source, cache) as lock:
        return _find_again(source, remote, lock) or _obtain_now(source, remote)


def _lock(source: Source, cache: Cache) -> Lock:
    def tell(holder: str) -> None:
        who = f"process {holder}" if holder else "another process"
        _logger.info("%s is downloading %s; waiting for it", who, source.shown)

    return cache.lock("url", key_of(source.location), tell)


def _find_again(source: Source, remote: Remote, lock: Lock) -> ImageRecord | None:
    """What the one we waited for has brought; it was there a moment ago, so nobody is asked."""
    if not lock.waited:
        return None
    known = remote.cache.find_url(source.location)
    wanted = source.sha256 or (known.sha256 if known else "")
    return remote.cache.find_image(wanted, remote.progress) if wanted else None


def _obtain_now(source: Source, remote: Remote) -> ImageRecord:
    if not source.sha256:
        unchanged = _find_unchanged(source, remote)
        if unchanged is not None:
            return unchanged
    with closing(Part(remote.cache.places.part(source.location), source.shown)) as part:
        arrived = _arrive(source, remote, part)
        try:
            check_volume(arrived.path, source.shown)
        except (ExternalError, UserError):
            part.discard()
            raise
        return _keep(source, remote.cache, part, arrived)


def _find_unchanged(source: Source, remote: Remote) -> ImageRecord | None:
    """What the URL gave before, if the server says that it is still so, or says nothing at all."""
    known = remote.cache.find_url(source.location)
    image = remote.cache.find_image(known.sha256, remote.progress) if known and known.sha256 else None
    if known is None or image is None or not (known.etag or known.last_modified):
        return None
    asked = {"If-None-Match": known.etag} if known.etag else {"If-Modified-Since": known.last_modified}
    try:
        with remote.fetch(source.location, asked) as reply:
            if reply.status not in (200, 304):
                raise refuse_status(reply.status, source.shown, reply.headers)
            if reply.status == 200:
                _logger.info("%s has changed since %s", source.shown, known.checked_at)
                return None
    except Unreachable as error:
        if not error.passing:
            raise
        _logger.warning("%s; the image that was fetched at %s is used", error.message, known.checked_at)
    return image


def _arrive(source: Source, remote: Remote, part: Part) -> Arrived:
    """Download and verify; what an earlier run left may be bad, so it is then tried once without."""
    try:
        part.resume(remote.progress)
        if part.is_complete and not source.sha256:
            part.discard()  # Nobody can tell whether it is still what the server has.
        return _download(source, remote, part)
    except Damaged as error:
        inherited = part.is_inherited
        part.discard()
        if not inherited:
            raise
        _logger.warning("%s; what an earlier run left was bad, so it begins anew", error.message)
    try:
        return _download(source, remote, part)
    except Damaged:
        part.discard()
        raise


def _download(source: Source, remote: Remote, part: Part) -> Arrived:
    target = Target(source.location, source.shown, source.name)
    now = render_time(remote.cache.clock())
    tools = Tools(remote.fetch, remote.progress, remote.sleep, remote.cache.check_space, now)
    arrived = download(target, part, tools)
    _verify(source, arrived)
    return arrived


def _verify(source: Source, arrived: Arrived) -> None:
    """The hash may be that of the compressed file or of what is in it: publishers list both."""
    if not source.sha256:
        return
    if source.sha256 == arrived.packed_sha256:
        _logger.info("verified: the sha256 is that of the compressed file")
    elif source.sha256 == arrived.sha256:
        what = "what was unpacked" if arrived.packed_sha256 else "the file"
        _logger.info("verified: the sha256 is that of %s", what)
    else:
        both = f" (compressed: {arrived.packed_sha256})" if arrived.packed_sha256 else ""
        raise Damaged(
            f"{source.shown} has the sha256 {arrived.sha256}{both}, expected {source.sha256}",
            hint="the file is not the one that was meant, or was changed on the way; it was removed",
        )


def _keep(source: Source, cache: Cache, part: Part, arrived: Arrived) -> ImageRecord:
    validators = part.record
    record = cache.add_image(
        arrived.path,
        ImageRecord(
            sha256=arrived.sha256,
            size_bytes=arrived.size_bytes,
            origins=(source.shown,),
            packed_sha256=arrived.packed_sha256,
        ),
    )
    cache.save_url(
        source.location,
        UrlRecord(
            url=source.shown,
            sha256=arrived.sha256,
            etag=validators.etag,
            last_modified=validators.last_modified,
            checked_at=render_time(cache.clock()),
        ),
    )
    part.discard()
    return record
