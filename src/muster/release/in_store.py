# SPDX-License-Identifier: Apache-2.0
"""Images in stores, to be copied from there and to there."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import BinaryIO, Final

from muster.errors import UserError
from muster.progress import Advance
from muster.release.oci.digest import PREFIX, Digest
from muster.release.oci.manifest import Descriptor, Manifest
from muster.release.oci.reference import Reference
from muster.release.off_loop import PIECE, drain, off_loop
from muster.release.ports import Source
from muster.release.store.flaws import WrongBlob, damaged, unreadable, wrong_size
from muster.release.store.incoming import Incoming
from muster.release.store.store import Store

_POLL_S: Final = 0.2


class StoreSource:
    """An image that a store has."""

    def __init__(self, store: Store, image: Descriptor, name: str = "") -> None:
        self._store, self._image = store, image
        self._name = name or image.digest

    @property
    def shown(self) -> str:
        return f"{self._name} in {self._store.root}"

    @property
    def digest(self) -> Digest | None:
        return self._image.digest

    async def root(self) -> Manifest:
        return await self.manifest(self._image)

    async def manifest(self, image: Descriptor) -> Manifest:
        return await off_loop(self._store.manifest, image.digest)

    async def blob(self, blob: Descriptor, offset: int = 0) -> AsyncGenerator[bytes, None]:
        reading = _Reading(self._store, blob, offset)
        try:
            while chunk := await off_loop(reading.next):
                yield chunk
        finally:
            reading.close()

    def repository_at(self, registry: str) -> str:  # noqa: ARG002
        return ""

    async def beside(self, tag: str) -> Source:
        contents = await off_loop(self._store.contents)
        found = [each for each in contents.references() if each[0].tag == tag]
        if found:
            reference, image = max(found, key=lambda each: self._is_in(each[0]))
            return StoreSource(self._store, image, str(reference))
        raise UserError(f"{self._store.root} has no image with the tag {tag}", hint="copy it there first")

    def _is_in(self, other: Reference) -> bool:
        """Whether another image is in the same repository."""
        return self._name.startswith((f"{other.name}:", f"{other.name}@"))


class _Reading:
    """A blob on its way out; the last of it is not given away before all was checked."""

    def __init__(self, store: Store, blob: Descriptor, offset: int) -> None:
        self._store, self._blob, self._offset = store, blob, offset
        self._path = store.blobs.path(blob.digest)
        self._file: BinaryIO | None = None
        self._hash = hashlib.sha256()
        self._held = b""
        self._size = offset

    def next(self) -> bytes:
        """The next bytes, none at the end."""
        if self._file is None:
            self._file = self._store.blobs.open(self._blob.digest)
            self._file.seek(self._offset)
            self._held = self._read()
        given = self._held
        self._held = self._read() if given else b""
        if given and not self._held:
            self._check()
        return given

    def _read(self) -> bytes:
        assert self._file is not None
        try:
            data = self._file.read(PIECE)
        except OSError as error:
            raise unreadable(self._path, error) from error
        self._hash.update(data)
        self._size += len(data)
        return data

    def _check(self) -> None:
        whole = self._offset == 0
        if self._size != self._blob.size_bytes:
            raise wrong_size(self._path, self._size, self._blob.size_bytes)
        if whole and f"{PREFIX}{self._hash.hexdigest()}" != self._blob.digest:
            raise damaged(self._path)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


class StoreTarget:
    """A name in a store."""

    def __init__(
        self,
        store: Store,
        reference: Reference,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._store, self._reference, self._sleep = store, reference, sleep

    @property
    def shown(self) -> str:
        return f"{self._reference} in {self._store.root}"

    @contextlib.asynccontextmanager
    async def busy(self) -> AsyncIterator[None]:
        with contextlib.ExitStack() as stack:
            await off_loop(stack.enter_context, self._store.shared())
            yield

    async def find(self, digest: Digest) -> Manifest | None:
        there = await off_loop(self._store.blobs.size, digest)
        return await off_loop(self._store.manifest, digest) if there is not None else None

    async def missing(self, manifest: Manifest) -> tuple[Descriptor, ...]:
        """Whatever is here is neither fetched nor read."""
        return await off_loop(self._missing, manifest)

    def _missing(self, manifest: Manifest) -> tuple[Descriptor, ...]:
        blobs = self._store.blobs
        return tuple(blob for blob in manifest.blobs if blobs.size(blob.digest) != blob.size_bytes)

    async def put_blob(self, blob: Descriptor, source: Source, advance: Advance) -> None:
        try:
            await self._receive(blob, source, advance)
        except _Spoilt:
            # What an earlier run left was bad; this time nothing is left of it.
            await self._receive(blob, source, lambda _count: None)

    async def _receive(self, blob: Descriptor, source: Source, advance: Advance) -> None:
        async with self._receiving(blob) as incoming:
            inherited = incoming.offset
            advance(blob.size_bytes if incoming.is_here else inherited)
            if incoming.is_here:
                return
            await drain(source.blob(blob, inherited), incoming.write, advance)
            try:
                await off_loop(incoming.finish)
            except WrongBlob as error:
                if inherited:
                    raise _Spoilt from error
                raise

    @contextlib.asynccontextmanager
    async def _receiving(self, blob: Descriptor) -> AsyncIterator[Incoming]:
        """Take a blob in. Somebody else may be at it, here or in another process: then we look later."""
        with contextlib.ExitStack() as stack:
            while (incoming := await self._try_to_receive(blob, stack)) is None:
                await self._sleep(_POLL_S)
            yield incoming

    async def _try_to_receive(self, blob: Descriptor, stack: contextlib.ExitStack) -> Incoming | None:
        receiving = self._store.blobs.receive(blob.digest, blob.size_bytes, on_wait=_refuse)
        try:
            return await off_loop(stack.enter_context, receiving)
        except _Busy:
            return None

    async def put_manifest(self, manifest: Manifest) -> None:
        await off_loop(self._store.blobs.put, manifest.data)

    async def name(self, manifest: Manifest) -> None:
        """By its tag, or its digest. One of several architectures has another digest than all of them."""
        digest = manifest.digest if self._reference.digest else None
        name = str(replace(self._reference, digest=digest))
        if (await off_loop(self._store.contents)).images.get(name) != manifest.descriptor:
            await off_loop(self._store.name, {name: manifest.descriptor})


class _Busy(Exception):
    """Somebody else takes the blob in."""


class _Spoilt(Exception):
    """What an earlier run left was not the beginning of the blob."""


def _refuse(_holder: str) -> None:
    raise _Busy
