# SPDX-License-Identifier: Apache-2.0
"""Where images come from and go to: registries and stores, as the loop that copies them sees both."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from muster.progress import Advance
from muster.release.oci.digest import Digest
from muster.release.oci.manifest import Descriptor, Manifest


class Source(Protocol):
    """One image somewhere, with all that belongs to it."""

    @property
    def shown(self) -> str:
        """What messages call it."""

    @property
    def digest(self) -> Digest | None:
        """What its manifest or index hashes to; None when only asking tells, as for a tag."""

    async def root(self) -> Manifest:
        """Its manifest or index."""

    async def manifest(self, image: Descriptor) -> Manifest:
        """A manifest that its index names, checked."""

    def blob(self, blob: Descriptor, offset: int = 0) -> AsyncGenerator[bytes, None]:
        """The bytes of a blob from an offset on, as many as its descriptor says; not checked any further."""

    def repository_at(self, registry: str) -> str:
        """The repository that has the image's blobs at a registry; empty when it is not from there."""

    async def beside(self, tag: str) -> Source:
        """Another image of the same repository, at the place that this one comes from; by its tag."""


class Target(Protocol):
    """A place for one image."""

    @property
    def shown(self) -> str:
        """What messages call it."""

    def busy(self) -> AbstractAsyncContextManager[None]:
        """While something is brought in that has no name yet, nobody takes it away."""

    async def find(self, digest: Digest) -> Manifest | None:
        """A manifest that is there."""

    async def missing(self, manifest: Manifest) -> tuple[Descriptor, ...]:
        """Which blobs of a manifest may not be there yet."""

    async def put_blob(self, blob: Descriptor, source: Source, advance: Advance) -> None:
        """Bring a blob; bytes that have not to be brought count as well."""

    async def put_manifest(self, manifest: Manifest) -> None:
        """Bring a manifest whose blobs, or whose manifests, are there."""

    async def name(self, manifest: Manifest) -> None:
        """Give the image the name that it has here."""
