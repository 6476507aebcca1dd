# SPDX-License-Identifier: Apache-2.0
"""The two sides of a copy: where all images of a release come from, and where they go."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Protocol

from muster.errors import MusterError, UserError
from muster.release.at_registry import Neighbours, RegistrySource, RegistryTarget
from muster.release.in_store import StoreSource, StoreTarget
from muster.release.mirror.ends import Prefix
from muster.release.mirror.needs import Need
from muster.release.oci.client import Client
from muster.release.oci.digest import Digest
from muster.release.oci.manifest import Descriptor, Manifest
from muster.release.oci.reference import Reference
from muster.release.off_loop import off_loop
from muster.release.ports import Source, Target
from muster.release.store.store import Store

_QUESTIONS: Final = 32
"""How many blobs a registry is asked about at once."""


class Origin(Protocol):
    """Where images come from."""

    async def source(self, image: Reference) -> Source:
        """One of them."""


class Destination(Protocol):
    """Where images go."""

    @property
    def shown(self) -> str:
        """What messages call it."""

    def place(self, need: Need) -> Reference:
        """The name that an image has there."""

    def target(self, need: Need) -> Target:
        """The place of one image; what it says to be there is there."""

    async def is_named(self, need: Need, digest: Digest) -> bool:
        """Whether an image that is there has its name, too."""


class FromRegistry:
    """Registries and their mirrors; and where the release itself is, if that is a copy as we make them."""

    def __init__(self, client: Client, release: Reference | None = None) -> None:
        self._client, self._release = client, release
        parts = release.repository.split("/")[:-1] if release else []
        self._prefixes = [
            Prefix(release.registry, "/".join(parts[:count]))
            for count in range(len(parts), -1, -1)
            if release is not None
        ]
        """What the copy may have before the paths of its images; the right one when that is known."""
        self._is_known = False

    async def source(self, image: Reference) -> Source:
        return RegistrySource(self._client, await self._beside(image) or image)

    async def _beside(self, image: Reference) -> Reference | None:
        """An image that is not where its name says, but beside the release that needs it."""
        if self._release is None or image.digest is None or image.registry == self._release.registry:
            return None
        for prefix in self._prefixes:
            place = prefix.place(image)
            with contextlib.suppress(MusterError):
                if await self._client.manifest_there(place) is not None:
                    self._prefixes, self._is_known = [prefix], True
                    return place
        if not self._is_known:
            self._prefixes = []  # It is no copy of ours, so the next image is not looked for here.
        return None


class FromStore:
    """A store; what is named by digest is there whatever name it has in it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def source(self, image: Reference) -> Source:
        found = await off_loop(self._find, image)
        if found is None:
            raise UserError(
                f"{image} is not in {self._store.root}", hint="copy the whole release into the store first"
            )
        return StoreSource(self._store, found, str(image))

    def _find(self, image: Reference) -> Descriptor | None:
        if image.digest is None:
            return self._store.contents().find(image.repository, image.tag)
        if self._store.blobs.size(image.digest) is None:
            return None
        return self._store.manifest(image.digest).descriptor


class ToRegistry:
    """A registry, or a path at one."""

    def __init__(self, client: Client, prefix: Prefix) -> None:
        self._client, self._prefix = client, prefix
        self._neighbours = Neighbours()
        self._questions = asyncio.Semaphore(_QUESTIONS)
        self._named: set[Reference] = set()
        """Places whose tag was seen to stand for their digest."""

    @property
    def shown(self) -> str:
        return self._prefix.shown

    def place(self, need: Need) -> Reference:
        return self._prefix.place(need.image, need.tag or need.image.tag)

    def target(self, need: Need) -> Target:
        return _Asked(self._client, self.place(need), self._neighbours, self._questions, self._named)

    async def is_named(self, need: Need, digest: Digest) -> bool:
        place = self.place(need)
        if not place.tag or (place in self._named and place.digest == digest):
            return True
        async with self._questions:
            found = await self._client.manifest_there(replace(place, digest=None))
        return found is not None and found.digest == digest


class _Asked(RegistryTarget):
    """A place at a registry that is asked for every blob: one that lost some keeps its manifests."""

    def __init__(
        self,
        client: Client,
        reference: Reference,
        neighbours: Neighbours,
        questions: asyncio.Semaphore,
        named: set[Reference],
    ) -> None:
        super().__init__(client, reference, neighbours)
        self._asker, self._at = client, reference
        self._questions, self._named = questions, named

    async def find(self, digest: Digest) -> Manifest | None:
        """By its tag first: when that stands for the digest, one question answers two."""
        if self._at.tag and self._at.digest == digest:
            self._named.discard(self._at)
            async with self._questions:
                found = await self._asker.manifest_there(replace(self._at, digest=None))
            if found is not None and found.digest == digest:
                self._named.add(self._at)
                self._there.add(digest)
                return found
        return await super().find(digest)

    async def missing(self, manifest: Manifest) -> tuple[Descriptor, ...]:
        blobs = manifest.blobs
        there = await asyncio.gather(*(self._has(blob) for blob in blobs))
        return tuple(blob for blob, is_there in zip(blobs, there, strict=True) if not is_there)

    async def _has(self, blob: Descriptor) -> bool:
        async with self._questions:
            return await self._asker.has_blob(self._at, blob)


class ToStore:
    """A store; images keep the names that they have at home, so that hosts need not know."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._names: Mapping[str, Descriptor] = {}
        self._naming = _Naming(store)

    @property
    def shown(self) -> str:
        return str(self._store.root)

    def place(self, need: Need) -> Reference:
        """By its own tag where it has one, else by its digest."""
        return replace(need.image, digest=None) if need.image.tag else need.image

    def target(self, need: Need) -> Target:
        return _NamedTogether(self._store, self.place(need), self._naming)

    async def is_named(self, need: Need, digest: Digest) -> bool:
        name = str(self.place(need))
        known = self._names.get(name)
        if known is None or known.digest != digest:
            self._names = (await off_loop(self._store.contents)).images
            known = self._names.get(name)
        return known is not None and known.digest == digest


class _Naming:
    """Names that images get: those that wait while the index is written are written together."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: dict[str, Descriptor] = {}
        self._lock = asyncio.Lock()

    async def name(self, name: str, image: Descriptor) -> None:
        self._waiting[name] = image
        async with self._lock:
            if self._waiting.get(name) == image:
                names, self._waiting = self._waiting, {}
                await off_loop(self._store.name, names)


class _NamedTogether(StoreTarget):
    """A name in a store; the index of several hundred is not written several hundred times."""

    def __init__(self, store: Store, reference: Reference, naming: _Naming) -> None:
        super().__init__(store, reference)
        self._place, self._naming = reference, naming

    async def name(self, manifest: Manifest) -> None:
        digest = manifest.digest if self._place.digest else None
        await self._naming.name(str(replace(self._place, digest=digest)), manifest.descriptor)
