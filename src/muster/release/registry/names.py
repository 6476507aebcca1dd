# SPDX-License-Identifier: Apache-2.0
"""Under which paths the images of a store are served; pure.

An image that is named ``registry.example.com/team/tool:v1`` is served as ``team/tool:v1``, as if this were
its registry, and as ``registry.example.com/team/tool:v1``, as mirrors of many registries have it. (Not so
with a port: no path may have a colon in it.) Where two registries have the same path and tag, the shorter
form is that of the first by name; who says which one it means gets that one. containerd does, with ``?ns=``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from muster.errors import UserError
from muster.frozen import dataclass
from muster.release.oci.manifest import Descriptor
from muster.release.oci.reference import Reference, parse_reference


@dataclass(frozen=True)
class Named:
    """An image with one of its names."""

    reference: Reference
    image: Descriptor


@dataclass(frozen=True)
class Names:
    """The names of a store, by the paths of their repositories."""

    paths: Mapping[str, tuple[Named, ...]]
    repositories: tuple[str, ...]
    """The shorter paths, in order."""
    unusable: tuple[str, ...] = ()
    """What the index has for names, and cannot be the name of an image at a registry."""

    @property
    def count(self) -> int:
        return sum(len(self.paths[path]) for path in self.repositories)

    def at(self, path: str, namespace: str = "") -> tuple[Named, ...]:
        """The images of a repository: those of one registry, if it has any there."""
        found = self.paths.get(path, ())
        own = tuple(each for each in found if each.reference.registry == namespace)
        return own or found

    def find_tag(self, path: str, tag: str, namespace: str = "") -> Descriptor | None:
        return next((each.image for each in self.at(path, namespace) if each.reference.tag == tag), None)

    def tags(self, path: str, namespace: str = "") -> list[str]:
        """In the order that the specification wants."""
        return sorted({each.reference.tag for each in self.at(path, namespace)} - {""})


def sort_names(images: Iterable[tuple[str, Descriptor]]) -> Names:
    """Put the names of an index in order."""
    paths: dict[str, list[Named]] = {}
    short: set[str] = set()
    unusable: list[str] = []
    for name, image in images:
        try:
            reference = parse_reference(name)
        except UserError:
            unusable.append(name)
            continue
        short.add(reference.repository)
        for path in (reference.repository, f"{reference.registry}/{reference.repository}"):
            paths.setdefault(path, []).append(Named(reference, image))
    return Names({path: tuple(found) for path, found in paths.items()}, tuple(sorted(short)), tuple(unusable))
