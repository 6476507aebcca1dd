# SPDX-License-Identifier: Apache-2.0
"""Which blobs the images of a store need, and what is wrong with the manifests on the way to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from muster.errors import UserError
from muster.release.oci.digest import Digest
from muster.release.oci.manifest import Descriptor, Manifest
from muster.release.store.flaws import BadBlob, Flaw
from muster.release.store.store import Store


@dataclass
class Need:
    """One blob, as the images that need it describe it."""

    sizes: dict[int, set[str]] = field(default_factory=dict)
    """Which images say how large it is; when they disagree, some of them lie."""

    @property
    def images(self) -> set[str]:
        return set().union(*self.sizes.values())


@dataclass(frozen=True)
class Reach:
    """All that some images need."""

    needs: Mapping[Digest, Need]
    bad: Mapping[Digest, BadBlob]
    """Manifests that cannot be read. What they need is not known."""


def find_reach(store: Store, images: Iterable[tuple[str, Descriptor]]) -> Reach:
    """Follow the manifests of images, each read once, to everything that they need."""
    needs: dict[Digest, Need] = {}
    bad: dict[Digest, BadBlob] = {}
    known: dict[Digest, Manifest | None] = {}
    for name, image in images:
        seen: set[Digest] = set()
        waiting = [image]
        while waiting:
            found = waiting.pop()
            _note(needs, found, name)
            if found.digest in seen:
                continue
            seen.add(found.digest)
            if found.digest not in known:
                known[found.digest] = _read(store, found.digest, bad)
            manifest = known[found.digest]
            if manifest is not None:
                waiting += manifest.manifests
                for blob in manifest.blobs:
                    _note(needs, blob, name)
    return Reach(needs, bad)


def _note(needs: dict[Digest, Need], blob: Descriptor, name: str) -> None:
    needs.setdefault(blob.digest, Need()).sizes.setdefault(blob.size_bytes, set()).add(name)


def _read(store: Store, digest: Digest, bad: dict[Digest, BadBlob]) -> Manifest | None:
    try:
        return store.manifest(digest)
    except BadBlob as error:
        bad[digest] = error
    except UserError as error:
        bad[digest] = BadBlob(Flaw.MANIFEST, error.message, hint=error.hint)
    return None
