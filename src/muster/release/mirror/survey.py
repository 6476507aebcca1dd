# SPDX-License-Identifier: Apache-2.0
"""What of an image is where it should be: only asked for, never read."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Final

from muster.errors import MusterError, UserError
from muster.frozen import dataclass
from muster.release.mirror.needs import Need
from muster.release.mirror.sides import Destination, Origin
from muster.release.oci.digest import Digest
from muster.release.oci.manifest import Descriptor, Manifest
from muster.release.ports import Source, Target

_AT_ONCE: Final = 16
_MOST_MANIFESTS: Final = 1000


@dataclass(frozen=True)
class Finding:
    """What is known of an image and its copy."""

    need: Need
    root: Descriptor | None = None
    """None when nobody has it."""
    absent: tuple[Digest, ...] = ()
    """Manifests that the copy has not."""
    lacking: tuple[Descriptor, ...] = ()
    """Blobs that the copy has not."""
    is_named: bool = True
    """Whether the copy has its name."""
    trouble: str = ""
    """Why it is not known."""
    sizes: Mapping[Digest, int] = field(default_factory=dict, repr=False)
    """Of all that belongs to it."""

    @property
    def is_whole(self) -> bool:
        return self.is_named and not (self.trouble or self.absent or self.lacking)

    @property
    def reason(self) -> str:
        """Why the copy is not whole, for people."""
        if self.trouble:
            return self.trouble
        if self.absent:
            return f"its manifest {self.absent[0]} is not there"
        if not self.lacking:
            return "it is there, but not by its name"
        count = len(self.lacking)
        more = f", and {count - 1} more" if count > 1 else ""
        return f"its blob {self.lacking[0].digest} is not there{more}"


async def survey(needs: Iterable[Need], origin: Origin, destination: Destination) -> tuple[Finding, ...]:
    """Look for several images at once; each has its own troubles."""
    lanes = asyncio.Semaphore(_AT_ONCE)

    async def look_at(need: Need) -> Finding:
        async with lanes:
            return await look(need, origin, destination)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(look_at(need)) for need in needs]
    return tuple(task.result() for task in tasks)


async def look(need: Need, origin: Origin, destination: Destination) -> Finding:
    """Look for one image: at the copy first, and at its origin for what the copy has not."""
    try:
        found = await _Look(need, origin, destination.target(need)).finding()
        if found.absent or found.root is None:
            return found
        return replace(found, is_named=await destination.is_named(need, found.root.digest))
    except MusterError as error:
        return Finding(need, trouble=error.message)


class _Look:
    """One image that is looked for."""

    def __init__(self, need: Need, origin: Origin, target: Target) -> None:
        self._need, self._origin, self._target = need, origin, target
        self._source: Source | None = None
        self._absent: list[Digest] = []
        self._manifests: dict[Digest, Manifest] = {}

    async def finding(self) -> Finding:
        root = await self._root()
        await self._collect(root)
        lacking: dict[Digest, Descriptor] = {}
        sizes = {digest: len(manifest.data) for digest, manifest in self._manifests.items()}
        for manifest in self._manifests.values():
            sizes |= {blob.digest: blob.size_bytes for blob in manifest.blobs}
            lacking |= {blob.digest: blob for blob in await self._target.missing(manifest)}
        return Finding(
            self._need,
            root.descriptor,
            tuple(self._absent),
            tuple(lacking.values()),
            sizes=sizes,
        )

    async def _root(self) -> Manifest:
        digest = self._need.image.digest
        if digest is None:
            root = await (await self._origin_source()).root()
            if await self._target.find(root.digest) is None:
                self._absent.append(root.digest)
            return root
        found = await self._target.find(digest)
        if found is not None:
            return found
        self._absent.append(digest)
        return await (await self._origin_source()).root()

    async def _collect(self, manifest: Manifest) -> None:
        """All manifests below one, without repetition."""
        waiting = [manifest]
        while waiting:
            each = waiting.pop()
            self._manifests[each.digest] = each
            if len(self._manifests) > _MOST_MANIFESTS:
                raise UserError(
                    f"{self._need.image} is an index of too many images",
                    hint="check that it is what you want",
                )
            for image in each.manifests:
                if image.digest not in self._manifests:
                    waiting.append(await self._child(image))

    async def _child(self, image: Descriptor) -> Manifest:
        found = await self._target.find(image.digest)
        if found is not None:
            return found
        self._absent.append(image.digest)
        return await (await self._origin_source()).manifest(image)

    async def _origin_source(self) -> Source:
        if self._source is None:
            self._source = await self._origin.source(self._need.image)
        return self._source
