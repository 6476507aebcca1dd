# SPDX-License-Identifier: Apache-2.0
"""Downloads a file as often as it takes, a bounded number of times, each time from where it stopped."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from typing import Final

from muster.errors import ExternalError
from muster.frozen import dataclass
from muster.image.cache.hashes import CHUNK_BYTES
from muster.image.cache.records import PartRecord
from muster.image.download.http import Fetch, Reply
from muster.image.download.part import Arrived, Part
from muster.image.download.trouble import refuse_status
from muster.progress import Progress
from muster.release.oci.trouble import Unreachable
from muster.units import render_size

_logger: Final = logging.getLogger(__name__)
_RANGE: Final = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18}|\*)")
_IDENTITY: Final = {"Accept-Encoding": "identity"}
IDLE_TRIES: Final = 5
"""How often in a row nothing new may arrive."""
ALL_TRIES: Final = 50


@dataclass(frozen=True)
class Tools:
    """What a transfer works with."""

    fetch: Fetch
    progress: Progress
    sleep: Callable[[float], None]
    check_space: Callable[[int], None]
    started_at: str


@dataclass(frozen=True)
class Target:
    """What is asked for."""

    url: str
    shown: str
    name: str

    @property
    def is_packed(self) -> bool:
        """Whether it will take at least as much room again, by its name."""
        return self.name.lower().endswith((".gz", ".xz"))


def download(target: Target, part: Part, tools: Tools) -> Arrived:
    """Bring a file into the part, which may hold some of it already."""
    idle, farthest = 0, part.size_bytes
    for _ in range(ALL_TRIES):
        if part.is_complete:
            return part.finish()
        try:
            _attempt(target, part, tools)
        except Unreachable as error:
            if not error.passing:
                raise
            idle = 0 if part.size_bytes > farthest else idle + 1
            farthest = max(farthest, part.size_bytes)
            if idle >= IDLE_TRIES:
                raise _gave_up(error, part, idle) from error
            wait_s = max(error.wait_s, 2 ** max(0, idle - 1))
            _logger.info("%s; trying again in %d s", error.message, wait_s)
            tools.sleep(wait_s)
        else:
            return part.finish()
    raise ExternalError(
        f"{target.shown}: the connection broke {ALL_TRIES} times",
        hint="run the command again, and it goes on from there; or name a source that is nearer",
    )


def _gave_up(error: Unreachable, part: Part, tries: int) -> ExternalError:
    kept = ""
    if part.size_bytes and part.record.validator:
        kept = f"; {render_size(part.size_bytes)} are kept, and the next run goes on from there"
    return ExternalError(f"{error.message}; gave up after {tries} tries", hint=error.hint + kept)


def _attempt(target: Target, part: Part, tools: Tools) -> None:
    with tools.fetch(target.url, _ask(part)) as reply:
        _settle(reply, target, part, tools.started_at)
        total = part.record.total_bytes
        if total:
            tools.check_space(total - part.size_bytes + (total if target.is_packed else 0))
        with tools.progress.bar(
            f"downloading {target.name}", total=total or None, done=part.size_bytes
        ) as advance:
            while chunk := reply.read(CHUNK_BYTES):
                part.write(chunk)
                advance(len(chunk))
    if total and part.size_bytes != total:
        raise Unreachable(
            f"{target.shown} ended after {render_size(part.size_bytes)} of {render_size(total)}",
            hint="check the network, or whether a proxy limits the size of downloads",
            passing=True,
        )


def _ask(part: Part) -> Mapping[str, str]:
    if part.size_bytes and part.record.validator:
        return {
            **_IDENTITY,
            "Range": f"bytes={part.size_bytes}-",
            "If-Range": part.record.validator,
        }
    return _IDENTITY


def _settle(reply: Reply, target: Target, part: Part, started_at: str) -> None:
    """Go on, or begin anew, as the answer says."""
    match reply.status:
        case 206 if _goes_on(reply.headers, part):
            _logger.debug("going on at byte %d", part.size_bytes)
        case 206 | 416:
            part.discard()
            raise Unreachable(
                f"{target.shown} is not what it was when the download began",
                hint="run the command again",
                passing=True,
            )
        case 200:
            if part.size_bytes:
                _logger.info("the server cannot go on where the download stopped; it begins anew")
            part.restart(_record_of(reply.headers, target.shown, started_at))
        case _:
            raise refuse_status(reply.status, target.shown, reply.headers)


def _goes_on(headers: Mapping[str, str], part: Part) -> bool:
    """Some servers send the rest of another file, whatever If-Range says."""
    match = _RANGE.fullmatch(headers.get("content-range", "").strip())
    if match is None or int(match[1]) != part.size_bytes:
        return False
    if match[3] != "*" and part.record.total_bytes not in (0, int(match[3])):
        return False
    etag, changed = headers.get("etag"), headers.get("last-modified")
    return etag in (None, part.record.etag) and changed in (None, part.record.last_modified)


def _record_of(headers: Mapping[str, str], shown: str, started_at: str) -> PartRecord:
    length = headers.get("content-length", "")
    return PartRecord(
        url=shown,
        etag=headers.get("etag", ""),
        last_modified=headers.get("last-modified", ""),
        total_bytes=int(length) if length.isascii() and length.isdigit() and len(length) < 19 else 0,
        started_at=started_at,
    )
