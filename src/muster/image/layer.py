# SPDX-License-Identifier: Apache-2.0
"""Layers that are kept, as they are sent, until what is wanted of them is out: the next run goes on there."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Final

from muster.image.cache.places import cannot_keep
from muster.image.cache.records import PartRecord, render_time, save_record
from muster.image.cache.store import Cache
from muster.image.download.part import remove_part
from muster.release.in_store import StoreSource
from muster.release.oci.digest import Digest
from muster.release.oci.manifest import Descriptor, Manifest
from muster.release.off_loop import PIECE, off_loop
from muster.release.ports import Source

_WORTH_KEEPING: Final = 8 << 20
"""What is smaller comes again as fast."""


class KeptLayers:
    """A source whose large blobs stay on the disk while they come."""

    def __init__(self, source: Source, cache: Cache) -> None:
        self._source, self._cache = source, cache
        self._parts: set[Path] = set()
        self.is_inherited = False
        """Whether some of it came from an earlier run."""

    @property
    def shown(self) -> str:
        return self._source.shown

    @property
    def digest(self) -> Digest | None:
        return self._source.digest

    async def root(self) -> Manifest:
        return await self._source.root()

    async def manifest(self, image: Descriptor) -> Manifest:
        return await self._source.manifest(image)

    def repository_at(self, registry: str) -> str:
        return self._source.repository_at(registry)

    async def beside(self, tag: str) -> Source:
        return await self._source.beside(tag)

    def blob(self, blob: Descriptor, offset: int = 0) -> AsyncGenerator[bytes, None]:
        is_here = isinstance(self._source, StoreSource)
        if is_here or offset or blob.size_bytes < _WORTH_KEEPING:
            return self._source.blob(blob, offset)
        return self._kept(blob)

    def discard(self) -> None:
        """What is here is not needed any more, or is not what it should be."""
        for path in self._parts:
            remove_part(path)
        self._parts.clear()
        self.is_inherited = False

    async def _kept(self, blob: Descriptor) -> AsyncGenerator[bytes, None]:
        """First what is here, then the rest, which is here as well when it has been given away."""
        path = self._cache.places.part(f"layer {blob.digest}")
        part = await off_loop(_Part, path, blob, self.shown, render_time(self._cache.clock()))
        self._parts.add(path)
        self.is_inherited = self.is_inherited or part.size_bytes > 0
        try:
            # The layer, and as much again for what comes out of it.
            await off_loop(self._cache.check_space, 2 * blob.size_bytes - part.size_bytes)
            while chunk := await off_loop(part.read):
                yield chunk
            async with contextlib.aclosing(self._source.blob(blob, part.size_bytes)) as chunks:
                async for chunk in chunks:
                    part.write(chunk)
                    yield chunk
        finally:
            part.close()


class _Part:
    """What is here of one layer."""

    def __init__(self, path: Path, blob: Descriptor, shown: str, now: str) -> None:
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a+b")
            self.size_bytes = self._file.seek(0, 2)
            if self.size_bytes > blob.size_bytes:
                self._file.truncate(0)
                self.size_bytes = 0
            self._file.seek(0)
        except OSError as error:
            raise cannot_keep(path, error) from error
        save_record(
            path.with_suffix(".json"),
            PartRecord(url=shown, total_bytes=blob.size_bytes, started_at=now),
        )

    def read(self) -> bytes:
        """The next of what was here before."""
        try:
            return self._file.read(PIECE)
        except OSError as error:
            raise cannot_keep(self._path, error) from error

    def write(self, chunk: bytes) -> None:
        """Add to it; the file was opened to be added to."""
        try:
            self._file.write(chunk)
        except OSError as error:
            raise cannot_keep(self._path, error) from error

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._file.close()
