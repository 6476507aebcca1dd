# SPDX-License-Identifier: Apache-2.0
"""Copies all images of a release, and proves that they are there: what is not is named, with who needs it.

Everything but the release image itself comes first: whoever finds a release in a copy finds all of it. A run
that was interrupted, or that failed for some images, is gone on with by the next one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Final

from muster.errors import MusterError
from muster.frozen import dataclass
from muster.progress import SILENT, Advance, Progress
from muster.release.copying import How, copy_image
from muster.release.mirror.needs import Need
from muster.release.mirror.sides import Destination, Origin
from muster.release.mirror.survey import Finding, look, survey
from muster.release.oci.digest import Digest
from muster.release.oci.manifest import Descriptor, Manifest
from muster.release.ports import Source, Target

_AT_ONCE: Final = 4
"""How many images are copied at once; their blobs share the lanes."""


@dataclass(frozen=True)
class Order:
    """What is to be copied."""

    release: Need
    """The image that lists the others."""
    needs: tuple[Need, ...]
    """The others."""
    origin: Origin
    destination: Destination
    progress: Progress = SILENT
    is_dry: bool = False
    """Whether it is only to be told what would be done."""


@dataclass(frozen=True)
class Outcome:
    """What is where it should be, and what had to be done for it."""

    findings: tuple[Finding, ...]
    """The last ones of all images, the release's first."""
    to_copy_bytes: int
    """What was missing at the beginning, each blob once."""
    total_bytes: int
    """All that belongs to the release, each blob once."""
    copied: int
    """How many images had to be copied, and are there now."""

    @property
    def missing(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if not finding.is_whole)


async def mirror(order: Order) -> Outcome:
    """Copy a release. Images that cannot be had do not keep the others from coming."""
    # First alone: a destination that does not answer is one error, and not one for each image.
    await order.destination.target(order.release).find(_digest_of(order.release))
    found = await survey((order.release, *order.needs), order.origin, order.destination)
    to_copy = _lacking(found)
    total = _sizes(found)
    if order.is_dry:
        return Outcome(found, to_copy, total, 0)
    after = await _copy(order, found)
    copied = sum(new.is_whole and not old.is_whole for old, new in zip(found, after, strict=True))
    return Outcome(after, to_copy, total, copied)


def _digest_of(need: Need) -> Digest:
    assert need.image.digest is not None
    return need.image.digest


async def _copy(order: Order, found: Sequence[Finding]) -> tuple[Finding, ...]:
    """Copy what is not whole, the release image last and only when all others are."""
    release, others = found[0], found[1:]
    total = sum({blob.digest: blob.size_bytes for finding in found for blob in finding.lacking}.values())
    broken = [finding for finding in found if not finding.is_whole and not finding.trouble]
    bar = order.progress if broken else SILENT
    with bar.bar(f"copying {_images(len(broken))}", total=total) as advance:
        how, lanes, count = How(), asyncio.Semaphore(_AT_ONCE), _Count(advance)

        async def bring(finding: Finding) -> Finding:
            async with lanes:
                return await _bring(finding, order, how, count)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(bring(finding)) for finding in others]
        done = tuple(task.result() for task in tasks)
        if all(finding.is_whole for finding in done):
            return (await _bring(release, order, how, count), *done)
    if not release.is_whole and not release.trouble:
        gone = sum(not finding.is_whole for finding in done)
        why = f"it is not copied before the images that it lists are there: {gone} of them are not"
        release = replace(release, trouble=why)
    return (release, *done)


async def _bring(finding: Finding, order: Order, how: How, count: _Count) -> Finding:
    """Copy one image, and look again."""
    if finding.is_whole or finding.trouble:
        return finding
    need = finding.need
    target = _Counted(order.destination.target(need), count)
    try:
        await copy_image(await order.origin.source(need.image), target, how)
    except MusterError as error:
        return replace(finding, trouble=error.message)
    return await look(need, order.origin, order.destination)


def _lacking(found: Sequence[Finding]) -> int:
    """What does not have to come twice: a blob that one image has, others get without being sent."""
    blobs = {blob.digest: blob.size_bytes for finding in found for blob in finding.lacking}
    for finding in found:
        gone = {*finding.absent, *(blob.digest for blob in finding.lacking)}
        for digest in finding.sizes.keys() - gone:
            blobs.pop(digest, None)
    return sum(blobs.values())


def _sizes(found: Sequence[Finding]) -> int:
    sizes = {digest: size for finding in found for digest, size in finding.sizes.items()}
    return sum(sizes.values())


class _Count:
    """How much has come, of all images together; what several of them share counts once."""

    def __init__(self, advance: Advance) -> None:
        self._advance = advance
        self._seen: set[Digest] = set()

    def of(self, blob: Descriptor) -> Advance:
        if blob.digest in self._seen:
            return _ignore
        self._seen.add(blob.digest)
        return self._advance


class _Counted:
    """A place for an image, where what comes is counted for all of them."""

    def __init__(self, target: Target, count: _Count) -> None:
        self._target, self._count = target, count

    @property
    def shown(self) -> str:
        return self._target.shown

    def busy(self) -> AbstractAsyncContextManager[None]:
        return self._target.busy()

    async def find(self, digest: Digest) -> Manifest | None:
        return await self._target.find(digest)

    async def missing(self, manifest: Manifest) -> tuple[Descriptor, ...]:
        return await self._target.missing(manifest)

    async def put_blob(self, blob: Descriptor, source: Source, advance: Advance) -> None:  # noqa: ARG002
        await self._target.put_blob(blob, source, self._count.of(blob))

    async def put_manifest(self, manifest: Manifest) -> None:
        await self._target.put_manifest(manifest)

    async def name(self, manifest: Manifest) -> None:
        await self._target.name(manifest)


def _ignore(_count: int) -> None:
    pass


def _images(count: int) -> str:
    return f"{count} image{'' if count == 1 else 's'}"
