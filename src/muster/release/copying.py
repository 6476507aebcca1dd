# SPDX-License-Identifier: Apache-2.0
"""Copies images between registries and stores: what is there is left, the rest comes in parallel and resumes.

    await pull(client, reference, store)                      registry -> store
    await push(client, store, image, reference)               store -> registry
    await copy_image(RegistrySource(...), RegistryTarget(...)) registry -> registry

An image gets its name last: whoever finds a name finds all that belongs to it.
"""

from __future__ import annotations

import asyncio
from dataclasses import field
from typing import Final

from muster.errors import ExternalError, MusterError, UserError
from muster.frozen import dataclass
from muster.progress import SILENT, Advance, Progress
from muster.release.at_registry import RegistrySource, RegistryTarget
from muster.release.in_store import StoreSource, StoreTarget
from muster.release.oci.client import Client
from muster.release.oci.digest import Digest
from muster.release.oci.manifest import Descriptor, Manifest, choose_image
from muster.release.oci.reference import Reference
from muster.release.oci.trouble import Damaged
from muster.release.off_loop import all_of
from muster.release.ports import Source, Target
from muster.release.store.store import Store

PARALLEL: Final = 6
"""How many blobs come at once."""
_MOST_MANIFESTS: Final = 10_000
_DEEPEST: Final = 4


@dataclass(frozen=True)
class How:
    """How images are copied. Several that are copied at once share one of these, and so the lanes."""

    architecture: str = ""
    """The one image of an index that is taken, as Go names its architecture; empty for all of them."""
    lanes: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(PARALLEL))
    """As many blobs as it lets in are under way."""
    progress: Progress = SILENT


@dataclass(frozen=True)
class Copied:
    """An image that is where it was to go."""

    image: Descriptor
    blobs: int
    """How many had to be brought."""
    size_bytes: int
    """How much those are."""


async def pull(client: Client, reference: Reference, store: Store, how: How | None = None) -> Copied:
    """Take an image into a store, under the name that it has at its registry."""
    return await copy_image(RegistrySource(client, reference), StoreTarget(store, reference), how)


async def push(
    client: Client, store: Store, image: Descriptor, reference: Reference, how: How | None = None
) -> Copied:
    """Bring an image of a store to a registry."""
    return await copy_image(StoreSource(store, image), RegistryTarget(client, reference), how)


async def copy_image(source: Source, target: Target, how: How | None = None) -> Copied:
    """Copy one image, or all images of an index."""
    how = how or How()
    async with target.busy():
        parts = _Parts(source, target)
        root = await parts.choose(how.architecture)
        await parts.collect(root)
        blobs = await parts.missing()
        total = sum(blob.size_bytes for blob in blobs)
        if blobs:
            with how.progress.bar(f"copying {source.shown}", total=total) as advance:
                await all_of(_bring(blob, source, target, how.lanes, advance) for blob in blobs)
        for manifest in parts.manifests.values():
            await target.put_manifest(manifest)
        await target.name(root)
    return Copied(root.descriptor, len(blobs), total)


async def find_image(source: Source, architecture: str) -> Manifest:
    """The manifest of an image for one architecture, whether it is one of several or the only one."""
    root = await source.root()
    if not root.is_index:
        return root
    image = choose_image(root, architecture, source.shown)
    return _checked(await source.manifest(image), image, source)


class _Parts:
    """The manifests of an image, from the target if it has them, else from the source."""

    def __init__(self, source: Source, target: Target) -> None:
        self._source, self._target = source, target
        self._found: dict[Digest, Manifest | None] = {}
        self.manifests: dict[Digest, Manifest] = {}
        """Each after those that it needs."""

    async def choose(self, architecture: str) -> Manifest:
        digest = self._source.digest
        root = (await self._find(digest) if digest else None) or await self._source.root()
        if root.is_index and architecture:
            return await self._child(choose_image(root, architecture, self._source.shown))
        return root

    async def collect(self, manifest: Manifest, depth: int = 0) -> None:
        """Find all that a manifest needs."""
        if depth > _DEEPEST or len(self.manifests) > _MOST_MANIFESTS:
            raise UserError(
                f"{self._source.shown} is an index of too many images, or of indexes of indexes",
                hint="check that it is what you want, or take the image of one architecture",
            )
        for image in manifest.manifests:
            if image.digest not in self.manifests:
                await self.collect(await self._child(image), depth + 1)
        self.manifests[manifest.digest] = manifest

    async def missing(self) -> tuple[Descriptor, ...]:
        """The blobs that the target does not have, each once."""
        blobs: dict[Digest, Descriptor] = {}
        for manifest in self.manifests.values():
            there = await self._find(manifest.digest)
            missing = await self._target.missing(manifest)
            if missing and there:
                await self._source.manifest(manifest.descriptor)  # So that it knows where the blobs are.
            blobs.update((blob.digest, blob) for blob in missing)
        return tuple(blobs.values())

    async def _child(self, image: Descriptor) -> Manifest:
        manifest = await self._find(image.digest) or await self._source.manifest(image)
        return _checked(manifest, image, self._source)

    async def _find(self, digest: Digest) -> Manifest | None:
        if digest not in self._found:
            self._found[digest] = await self._target.find(digest)
        return self._found[digest]


async def _bring(
    blob: Descriptor, source: Source, target: Target, lanes: asyncio.Semaphore, advance: Advance
) -> None:
    async with lanes:
        try:
            await target.put_blob(blob, source, advance)
        except MusterError as error:
            raise ExternalError(f"{source.shown}: {error.message}", hint=error.hint) from error


def _checked(manifest: Manifest, image: Descriptor, source: Source) -> Manifest:
    if len(manifest.data) != image.size_bytes:
        raise Damaged(
            f"{source.shown}: its index says that the manifest {image.digest} has {image.size_bytes} bytes,"
            f" and it has {len(manifest.data)}",
            hint="the image is broken where it comes from; copy it there again, or name another mirror",
        )
    return manifest
