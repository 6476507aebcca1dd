# SPDX-License-Identifier: Apache-2.0
"""Blobs come from a registry as streams that go on where a connection broke, as often as it takes."""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncGenerator, Mapping
from typing import Final

from muster.frozen import dataclass
from muster.release.oci.auth import Access
from muster.release.oci.manifest import Descriptor
from muster.release.oci.patience import Patience
from muster.release.oci.session import Ask, Session, refused
from muster.release.oci.trouble import Unreachable

_RANGE: Final = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18}|\*)", re.ASCII)
_MOST_BREAKS: Final = 1000
"""However little came each time, there is an end to it."""


@dataclass(frozen=True)
class Wanted:
    """A blob, and where it is."""

    access: Access
    blob: Descriptor

    @property
    def shown(self) -> str:
        return f"the blob {self.blob.digest} of {self.access.name}"


class WrongPart(Unreachable):
    """Another part of a blob came than was asked for; the whole may still be had."""


async def stream_blob(
    session: Session, wanted: Wanted, offset: int, patience: Patience
) -> AsyncGenerator[bytes, None]:
    """The bytes of a blob from an offset on: exactly as many as its descriptor says, or an error.

    Whether they hash to its digest is for whoever has all of them to say.
    """
    at, idle, ranges = offset, 0, True
    for _ in range(_MOST_BREAKS):
        if at >= wanted.blob.size_bytes:
            return
        before = at
        try:
            async with contextlib.aclosing(_attempt(session, wanted, at, ranges=ranges)) as chunks:
                async for chunk in chunks:
                    at += len(chunk)
                    yield chunk
        except Unreachable as error:
            ranges = ranges and not isinstance(error, WrongPart)
            idle = 0 if at > before else idle + 1
            await patience.wait(error.about(wanted.shown, wanted.blob.digest), idle)
    raise Unreachable(
        f"{wanted.shown}: the connection broke {_MOST_BREAKS} times",
        hint="run the command again, and it goes on from there; or name a mirror that is nearer",
        passing=False,
    )


async def _attempt(session: Session, wanted: Wanted, at: int, *, ranges: bool) -> AsyncGenerator[bytes, None]:
    headers = {"Range": f"bytes={at}-"} if at and ranges else {}
    target = f"{wanted.access.repository}/blobs/{wanted.blob.digest}"
    async with session.ask(wanted.access, Ask("GET", target, headers)) as reply:
        if reply.status not in (200, 206, 416):
            raise await refused(reply, wanted.shown)
        skip = find_start(reply.status, reply.headers, wanted, at)
        left = wanted.blob.size_bytes - at
        async with contextlib.aclosing(reply.chunks()) as chunks:
            async for chunk in chunks:
                fresh = chunk[skip:]
                skip -= len(chunk) - len(fresh)
                left -= len(fresh)
                if left < 0:
                    raise _wrong_size(wanted, "more are sent")
                if fresh:
                    yield fresh
    if left:
        size = wanted.blob.size_bytes
        raise Unreachable(
            f"{wanted.shown} ended after {size - left} of {size} bytes",
            hint="check the network, or whether a proxy limits the size of downloads",
            passing=True,
        )


def find_start(status: int, headers: Mapping[str, str], wanted: Wanted, at: int) -> int:
    """How many bytes of an answer we have already; what is not the blob, or not its rest, is refused."""
    size = wanted.blob.size_bytes
    if status == 200:
        length = headers.get("content-length", "")
        if length and length != str(size):
            raise _wrong_size(wanted, f"the registry has {length[:20]}")
        return at
    match = _RANGE.fullmatch(headers.get("content-range", "").strip()) if status == 206 else None
    if match is None or int(match[1]) != at or int(match[2]) >= size:
        raise WrongPart(
            f"{wanted.shown}: another part came than that from byte {at} on",
            hint="check the registry, or the proxy before it",
            passing=True,
        )
    if match[3] not in ("*", str(size)):
        raise _wrong_size(wanted, f"the registry has {match[3]}")
    return 0


def _wrong_size(wanted: Wanted, instead: str) -> Unreachable:
    return Unreachable(
        f"{wanted.shown} is not what its manifest says: {wanted.blob.size_bytes} bytes; {instead}",
        hint="the image is broken where it comes from; copy it there again, or name another mirror",
        passing=False,
    )
