# SPDX-License-Identifier: Apache-2.0
"""The port that images come in by: what a source offers, and where each of its blobs is."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from muster.frozen import dataclass
from muster.release.oci.digest import Digest
from muster.release.oci.manifest import Descriptor, choose_image, parse_manifest
from muster.release.store.exchange.tree import Extent


@dataclass(frozen=True)
class Found:
    """An image that a source has."""

    image: Descriptor
    name: str = ""
    """``registry/repository:tag`` or ``...@digest``, if the source knows."""
    tag: str = ""
    """All that some layouts tell: they leave it to the reader which repository it is in."""


class Source(Protocol):
    """Images somewhere. What it gives is checked by whoever takes it."""

    @property
    def kind(self) -> str:
        """What it is, in words."""

    def images(self) -> tuple[Found, ...]:
        """All images that can be asked for."""

    def manifest(self, digest: Digest) -> bytes:
        """A manifest or index; an error when it is not there."""

    def find(self, digest: Digest) -> Extent | None:
        """Where a blob is; None when it is not there."""


def narrow(source: Source, found: Found, architecture: str) -> Found:
    """The part of an image that is for one architecture, by the same name; some sources have no other."""
    manifest = parse_manifest(source.manifest(found.image.digest), found.name, found.image.media_type)
    if not manifest.is_index:
        return found
    chosen = choose_image(manifest, architecture, found.name or found.image.digest)
    return replace(found, image=Descriptor(chosen.media_type, chosen.digest, chosen.size_bytes))
