# SPDX-License-Identifier: Apache-2.0
"""What differs between two releases: components, images, add-ons, and the bytes that are new."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from muster.frozen import dataclass
from muster.release.model import Release
from muster.release.oci.digest import Digest


@dataclass(frozen=True)
class Change:
    """One thing that is not the same. A version is empty where there is no such thing."""

    id: str
    before: str
    after: str
    is_rebuilt: bool = False
    """The version is the same, and the content is not."""


@dataclass(frozen=True)
class Difference:
    """All that differs."""

    components: tuple[Change, ...]
    add_ons: tuple[Change, ...]
    images: tuple[Change, ...]
    """By digest."""
    new_bytes: int
    """What the second has and the first has not."""
    total_bytes: int
    """All that the second has."""


def compare(before: Release, after: Release, old: Iterable[Digest], new: Mapping[Digest, int]) -> Difference:
    """``old`` and ``new`` are the blobs of both, ``new`` with their sizes."""
    had = frozenset(old)
    return Difference(
        components=_changes(
            {each.id: (each.version, each.digest) for each in before.components},
            {each.id: (each.version, each.digest) for each in after.components},
        ),
        add_ons=_changes(
            {each.id: (each.version, str(each.manifests)) for each in before.add_ons},
            {each.id: (each.version, str(each.manifests)) for each in after.add_ons},
        ),
        images=_changes(
            {each.id: (each.image.digest, "") for each in before.images},
            {each.id: (each.image.digest, "") for each in after.images},
        ),
        new_bytes=sum(size for digest, size in new.items() if digest not in had),
        total_bytes=sum(new.values()),
    )


def _changes(
    before: Mapping[str, tuple[str, str]], after: Mapping[str, tuple[str, str]]
) -> tuple[Change, ...]:
    found = []
    for id in sorted({*before, *after}):
        old, new = before.get(id, ("", "")), after.get(id, ("", ""))
        if old != new:
            found.append(Change(id, old[0], new[0], is_rebuilt=old[0] == new[0]))
    return tuple(found)
