# SPDX-License-Identifier: Apache-2.0
"""What a store holds, by name: its index.json, which is that of an OCI image layout.

A name is that of the image where it came from, ``registry/repository:tag`` or ``registry/repository@digest``.
From each name a chain of digests leads to every byte, so that who trusts the index trusts the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from muster.errors import MediaError, MusterError
from muster.frozen import dataclass
from muster.release.oci.digest import Digest
from muster.release.oci.manifest import Descriptor, parse_manifest, render_index
from muster.release.oci.reference import Reference, parse_reference

NAME: Final = "org.opencontainers.image.ref.name"


@dataclass(frozen=True)
class Contents:
    """Images by name; the same image may have several."""

    images: Mapping[str, Descriptor]

    def find(self, repository: str, wanted: str) -> Descriptor | None:
        """The image that has a tag or digest in a repository, whatever registry it came from."""
        for reference, image in self.references():
            if reference.repository == repository and wanted in (reference.tag, image.digest):
                return image
        return None

    def references(self) -> tuple[tuple[Reference, Descriptor], ...]:
        return tuple((parse_reference(name), image) for name, image in self.images.items())

    @property
    def roots(self) -> frozenset[Digest]:
        """The manifests that are named; what cannot be reached from one of them is nobody's."""
        return frozenset(image.digest for image in self.images.values())


def parse_contents(data: bytes, origin: str) -> Contents:
    """Read index.json; entries without a name are those of nobody, and left out."""
    try:
        index = parse_manifest(data, origin)
    except MusterError as error:
        raise MediaError(f"{origin} is damaged: {error.message}", hint="make the store again") from error
    return Contents(
        {entry.annotations[NAME]: _bare(entry) for entry in index.manifests if entry.annotations.get(NAME)}
    )


def render_contents(images: Iterable[tuple[str, Descriptor]]) -> bytes:
    """index.json: the same bytes for the same images, whatever their order."""
    entries = (replace(_bare(image), annotations={NAME: name}) for name, image in sorted(images))
    return render_index(entries).data + b"\n"


def _bare(entry: Descriptor) -> Descriptor:
    return replace(entry, annotations={}, platform=None)
