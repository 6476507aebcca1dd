# SPDX-License-Identifier: Apache-2.0
"""The storage of a registry as a source: what the distribution registry keeps on a disk.

    docker/registry/v2/blobs/sha256/ab/abcd.../data
    docker/registry/v2/repositories/NAME/_manifests/tags/TAG/current/link
    docker/registry/v2/repositories/NAME/_manifests/revisions/sha256/HEX/link

oc-mirror keeps what it mirrors in the same way, in its workspaces and in its archives.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Final

from muster.errors import UserError
from muster.release.oci.digest import PREFIX, Digest, hex_of, is_digest, parse_digest
from muster.release.oci.manifest import LARGEST_MANIFEST, OCI_MANIFEST, Descriptor, parse_manifest
from muster.release.store.exchange.source import Found
from muster.release.store.exchange.tree import Extent, Tree
from muster.release.store.flaws import missing

_PLACES: Final = (
    "docker/registry/v2",
    "",
    "data/docker/registry/v2",
    ".oc-mirror/.cache/docker/registry/v2",
    "oc-mirror/install/docker/registry/v2",
)
"""Where the storage is in what people have: a registry's volume, workspaces and archives of oc-mirror."""
_TAG: Final = re.compile(r"(.+)/_manifests/tags/([^/]+)/current/link")
_REVISION: Final = re.compile(r"(.+)/_manifests/revisions/sha256/([0-9a-f]{64})/link")
_NOT_MANIFESTS: Final = ("_layers", "_uploads")
_LARGEST_LINK: Final = 200


class RegistryTree:
    """The storage of a registry, whose host name it does not know."""

    kind = "the storage of a registry"

    def __init__(self, tree: Tree, registry: str) -> None:
        self._tree, self._registry = tree, registry
        place = _find_place(tree)
        assert place is not None
        self._top = f"{place}/" if place else ""

    def images(self) -> tuple[Found, ...]:
        """Everything that has a tag; what has none, and is no part of another image, by its digest."""
        tags: dict[str, dict[str, Digest]] = defaultdict(dict)
        revisions: dict[str, set[Digest]] = defaultdict(set)
        for path in self._tree.names(f"{self._top}repositories", _NOT_MANIFESTS):
            name = path.removeprefix(f"{self._top}repositories/")
            if match := _TAG.fullmatch(name):
                tags[match[1]][match[2]] = self._link(path)
            elif match := _REVISION.fullmatch(name):
                revisions[match[1]].add(Digest(PREFIX + match[2]))
        found: list[Found] = []
        for repository in sorted(tags.keys() | revisions.keys()):
            name = f"{self._registry}/{repository}"
            found += [Found(self._image(to), f"{name}:{tag}") for tag, to in sorted(tags[repository].items())]
            loose = revisions[repository] - set(tags[repository].values())
            loose -= self._parts(revisions[repository])
            found += [Found(self._image(digest), f"{name}@{digest}") for digest in sorted(loose)]
        return tuple(found)

    def manifest(self, digest: Digest) -> bytes:
        extent = self.find(digest)
        if extent is None:
            raise missing(digest, self._tree.origin)
        return extent.read(LARGEST_MANIFEST)

    def find(self, digest: Digest) -> Extent | None:
        digits = hex_of(digest)
        return self._tree.find(f"{self._top}blobs/sha256/{digits[:2]}/{digits}/data")

    def _link(self, path: str) -> Digest:
        extent = self._tree.find(path)
        text = extent.read(_LARGEST_LINK).decode("ascii", "replace").strip() if extent else ""
        if not is_digest(text):
            raise UserError(
                f"{path} in {self._tree.origin} does not hold a digest", hint="the storage is damaged there"
            )
        return parse_digest(text)

    def _image(self, digest: Digest) -> Descriptor:
        extent = self.find(digest)
        return Descriptor(OCI_MANIFEST, digest, extent.size_bytes if extent else 0)

    def _parts(self, revisions: set[Digest]) -> set[Digest]:
        """The images of indexes, which have revisions of their own."""
        parts: set[Digest] = set()
        for digest in revisions:
            try:
                index = parse_manifest(self.manifest(digest), digest)
            except UserError:
                continue  # Whoever asks for it will be told.
            parts.update(image.digest for image in index.manifests)
        return parts


def is_registry_tree(tree: Tree) -> bool:
    return _find_place(tree) is not None


def _find_place(tree: Tree) -> str | None:
    for place in _PLACES:
        top = f"{place}/" if place else ""
        if next(iter(tree.names(f"{top}repositories", _NOT_MANIFESTS)), None) is not None:
            return place
    return None
