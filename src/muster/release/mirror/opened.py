# SPDX-License-Identifier: Apache-2.0
"""Releases that are opened: found where they are, ready to be read and copied."""

from __future__ import annotations

from muster.frozen import dataclass
from muster.release.at_registry import RegistrySource
from muster.release.image_signature import find_signature
from muster.release.in_store import StoreSource
from muster.release.kinds.description import Description
from muster.release.kinds.reading import FORGETFUL, Memory, describe
from muster.release.kinds.stored import choose_release
from muster.release.mirror.ends import AtRegistry, InStore
from muster.release.mirror.needs import Need
from muster.release.mirror.sides import FromRegistry, FromStore, Origin
from muster.release.oci.client import Client
from muster.release.oci.reference import Reference
from muster.release.ports import Source
from muster.release.store.store import open_store


@dataclass(frozen=True)
class Opened:
    """A release that can be read."""

    source: Source
    reference: Reference
    origin: Origin
    """Where its other images are."""

    async def describe(self, architecture: str = "", memory: Memory = FORGETFUL) -> Description:
        """What it says of itself, for one architecture or for all."""
        return await describe(self.source, self.reference, architecture, memory)


def open_remote(end: AtRegistry, client: Client) -> Opened:
    """A release at a registry, or at its mirrors."""
    reference = end.image()
    return Opened(RegistrySource(client, reference), reference, FromRegistry(client, reference))


def open_stored(end: InStore, architecture: str = "") -> Opened:
    """A release in a store."""
    store = open_store(end.path)
    found = choose_release(store, end.name, architecture)
    source = StoreSource(store, found.image, str(found.reference))
    return Opened(source, found.reference, FromStore(store))


async def needs_with_signature(opened: Opened, release: Description) -> tuple[Need, ...]:
    """All images of a release, its own first; its signatures belong to it, if it has any."""
    whole, parts = needs_of(release)
    signature = await find_signature(opened.source, release.image)
    signed = (Need(signature, (f"signature of {whole.needed_by[0]}",)),) if signature else ()
    return (whole, *parts, *signed)


def needs_of(release: Description) -> tuple[Need, tuple[Need, ...]]:
    """The image of a release, and all images that it lists, with who needs them."""
    parts = (
        Need(part.image, (f"add-on {part.add_on}" if part.add_on else f"component {part.name}",), part.tag)
        for part in release.parts
    )
    words = f"release {release.kind} {release.version}"
    return Need(release.image, (words,), release.tag), tuple(parts)
