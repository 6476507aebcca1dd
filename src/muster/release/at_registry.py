# SPDX-License-Identifier: Apache-2.0
"""Images at registries, to be copied from there and to there."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace

from muster.progress import Advance
from muster.release.oci.client import Client
from muster.release.oci.digest import Digest
from muster.release.oci.manifest import Descriptor, Manifest
from muster.release.oci.reference import Reference
from muster.release.oci.upload import Pushed
from muster.release.ports import Source


class RegistrySource:
    """An image at a registry, or at its mirrors."""

    def __init__(self, client: Client, reference: Reference) -> None:
        self._client, self._reference = client, reference
        self._places: dict[Digest, Reference] = {}
        self._root: Reference | None = None
        """Where the image was found: at a mirror, perhaps."""

    @property
    def shown(self) -> str:
        return str(self._reference)

    @property
    def digest(self) -> Digest | None:
        return self._reference.digest

    async def root(self) -> Manifest:
        return await self._find(self._reference)

    async def manifest(self, image: Descriptor) -> Manifest:
        return await self._find(replace(self._reference, tag="", digest=image.digest))

    async def _find(self, reference: Reference) -> Manifest:
        found = await self._client.manifest(reference)
        self._root = self._root or found.reference
        # Not every mirror has everything: a blob is where its manifest was.
        self._places.update(dict.fromkeys((blob.digest for blob in found.manifest.blobs), found.reference))
        return found.manifest

    def blob(self, blob: Descriptor, offset: int = 0) -> AsyncGenerator[bytes, None]:
        return self._client.blob(self._places.get(blob.digest, self._reference), blob, offset)

    def repository_at(self, registry: str) -> str:
        place = next(iter(self._places.values()), self._reference)
        return place.repository if place.registry == registry else ""

    async def beside(self, tag: str) -> Source:
        """A mirror may be for digests only, so that a tag is looked for where the image was found."""
        if self._root is None:
            await self.root()
        assert self._root is not None
        return RegistrySource(self._client, replace(self._root, tag=tag, digest=None))


class Neighbours:
    """Which repositories of one registry have a blob, as far as we brought it there ourselves."""

    def __init__(self) -> None:
        self._repositories: dict[Digest, str] = {}
        self._locks: dict[Digest, asyncio.Lock] = {}

    @contextlib.asynccontextmanager
    async def bringing(self, digest: Digest, repository: str) -> AsyncIterator[str]:
        """Bring a blob; whoever brings the same one waits, and then gets to know where it is."""
        async with self._locks.setdefault(digest, asyncio.Lock()):
            yield self._repositories.get(digest, "")
            self._repositories.setdefault(digest, repository)


class RegistryTarget:
    """A name at a registry, by tag or by digest. Images for the same registry share their neighbours."""

    def __init__(self, client: Client, reference: Reference, neighbours: Neighbours | None = None) -> None:
        self._client, self._reference = client, reference
        self._neighbours = neighbours or Neighbours()
        self._there: set[Digest] = set()

    @property
    def shown(self) -> str:
        return str(self._reference)

    @contextlib.asynccontextmanager
    async def busy(self) -> AsyncIterator[None]:
        yield

    async def find(self, digest: Digest) -> Manifest | None:
        found = await self._client.manifest_there(replace(self._reference, tag="", digest=digest))
        if found is not None:
            self._there.add(digest)
        return found

    async def missing(self, manifest: Manifest) -> tuple[Descriptor, ...]:
        """A registry takes no manifest without its blobs, so those of one that is there are, too."""
        return () if manifest.digest in self._there else manifest.blobs

    async def put_blob(self, blob: Descriptor, source: Source, advance: Advance) -> None:
        told = 0

        async def content() -> AsyncGenerator[bytes, None]:
            nonlocal told
            sent = 0
            async with contextlib.aclosing(source.blob(blob)) as chunks:
                async for chunk in chunks:
                    yield chunk
                    sent += len(chunk)
                    advance(max(0, sent - told))
                    told = max(told, sent)

        async with self._neighbours.bringing(blob.digest, self._reference.repository) as neighbour:
            mount = neighbour or source.repository_at(self._reference.registry)
            pushed = await self._client.push_blob(self._reference, blob, content, mount=mount)
        if pushed is not Pushed.SENT:
            advance(blob.size_bytes - told)

    async def put_manifest(self, manifest: Manifest) -> None:
        if manifest.digest not in self._there:
            await self._client.push_manifest(replace(self._reference, tag=""), manifest)
            self._there.add(manifest.digest)

    async def name(self, manifest: Manifest) -> None:
        if self._reference.tag:
            await self._client.push_manifest(self._reference, manifest)
