# SPDX-License-Identifier: Apache-2.0
"""What a store holds, by name: its index.json, which is that of an OCI image layout.

A name is that of the image where it came from, ``registry/repository:tag`` or ``registry/repository@digest``.
From each name a chain of digests leads to every byte, so that who trusts the index trusts the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from muster.errors import MediaError, MusterError, UserError
from muster.frozen import dataclass
from muster.release.oci.digest import Digest
from muster.release.oci.manifest import Descriptor, parse_manifest, render_index
from muster.release.oci.reference import Reference, parse_reference

NAME: Final = "org.opencontainers.image.ref.name"


@dataclass(frozen=True)
class Contents:
    """Images by name; the same image may have several."""

    images: Mapping[str, Descriptor]
    nameless: tuple[Descriptor, ...] = ()
    """What other tools put there without a name; it is kept, and nobody finds it."""

    def find(self, repository: str, wanted: str) -> Descriptor | None:
        """The image that has a tag or digest in a repository, whatever registry it came from."""
        for reference, image in self.references():
            if reference.repository == repository and wanted in (reference.tag, image.digest):
                return image
        return None

    def references(self) -> tuple[tuple[Reference, Descriptor], ...]:
        """The images by the parts of their names; what another tool gave a name that is none is left out."""
        return tuple(self._references())

    def _references(self) -> Iterator[tuple[Reference, Descriptor]]:
        for name, image in self.images.items():
            try:
                yield parse_reference(name), image
            except UserError:
                continue

    @property
    def roots(self) -> tuple[tuple[str, Descriptor], ...]:
        """All images, those without a name by their digest; what no way leads to from them is nobody's."""
        return (*self.images.items(), *((image.digest, image) for image in self.nameless))


def parse_contents(data: bytes, origin: str) -> Contents:
    """Read index.json."""
    try:
        index = parse_manifest(data, origin)
    except MusterError as error:
        raise MediaError(f"{origin} is damaged: {error.message}", hint="make the store again") from error
    return Contents(
        {entry.annotations[NAME]: _bare(entry) for entry in index.manifests if entry.annotations.get(NAME)},
        tuple(entry for entry in index.manifests if not entry.annotations.get(NAME)),
    )


def render_contents(images: Iterable[tuple[str, Descriptor]], nameless: Iterable[Descriptor] = ()) -> bytes:
    """index.json: the same bytes for the same images, whatever their order."""
    named = (replace(_bare(image), annotations={NAME: name}) for name, image in sorted(images, key=_name))
    return render_index((*named, *sorted(nameless, key=_digest))).data + b"\n"


def _name(entry: tuple[str, Descriptor]) -> str:
    return entry[0]


def _digest(image: Descriptor) -> Digest:
    return image.digest


def _bare(entry: Descriptor) -> Descriptor:
    return replace(entry, annotations={}, platform=None)
