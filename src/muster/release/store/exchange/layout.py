# SPDX-License-Identifier: Apache-2.0
"""OCI image layouts as a source: our stores, what skopeo, podman and a new `docker save` write."""

from __future__ import annotations

from typing import Final

from muster.errors import MediaError, UserError
from muster.release.oci.digest import Digest, hex_of
from muster.release.oci.manifest import LARGEST_MANIFEST, Descriptor, parse_manifest
from muster.release.oci.reference import parse_reference
from muster.release.store.contents import NAME
from muster.release.store.exchange.source import Found
from muster.release.store.exchange.tree import Extent, Tree
from muster.release.store.flaws import missing
from muster.release.store.store import INDEX, LARGEST_INDEX, LAYOUT, check_layout

_FULL_NAME: Final = "io.containerd.image.name"
"""Where containerd and Docker put the whole name; the standard one has the tag alone there."""


class Layout:
    """An OCI image layout in a folder or an archive."""

    kind = "an OCI image layout"

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._where = f"{INDEX} in {tree.origin}"
        marker, index = tree.find(LAYOUT), tree.find(INDEX)
        if marker is None or index is None:
            raise MediaError(f"there is no {self._where}", hint="get the layout again; some of it is missing")
        check_layout(marker.read(LARGEST_MANIFEST), marker.where)
        self._index = parse_manifest(index.read(LARGEST_INDEX), self._where)

    def images(self) -> tuple[Found, ...]:
        return tuple(_found(entry) for entry in self._index.manifests)

    def manifest(self, digest: Digest) -> bytes:
        extent = self.find(digest)
        if extent is None:
            raise missing(digest, self._tree.origin)
        return extent.read(LARGEST_MANIFEST)

    def find(self, digest: Digest) -> Extent | None:
        return self._tree.find(f"blobs/sha256/{hex_of(digest)}")


def is_layout(tree: Tree) -> bool:
    return tree.find(LAYOUT) is not None


def _found(entry: Descriptor) -> Found:
    """An entry of the index, by whatever name it has."""
    full, short = entry.annotations.get(_FULL_NAME, ""), entry.annotations.get(NAME, "")
    image = Descriptor(entry.media_type, entry.digest, entry.size_bytes)
    for name in (full, short):
        try:
            parse_reference(name)
        except UserError:
            continue
        return Found(image, name)
    return Found(image, tag=short)
