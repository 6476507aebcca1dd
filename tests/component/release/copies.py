# SPDX-License-Identifier: Apache-2.0
"""What tests of copying share: images worth copying, and a bar that remembers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from muster.progress import Advance
from muster.release.oci.digest import digest_of
from muster.release.oci.manifest import Descriptor, Manifest
from muster.release.store.store import Store
from tests.component.release.rough_registry import RoughRegistry

MIB = 1 << 20
LAYERS = [
    random.Random(number).randbytes(size) for number, size in enumerate((3 * MIB, 5 * MIB + 7, 1, 900_000))
]


class Bar:
    """A progress bar that remembers."""

    def __init__(self) -> None:
        self.total: int | None = None
        self.done = 0
        self.calls: list[int] = []

    @contextmanager
    def bar(
        self, label: str, *, total: int | None = None, unit: str = "B", done: int = 0
    ) -> Iterator[Advance]:
        self.total = total
        yield self.advance

    def advance(self, count: int) -> None:
        assert count >= 0
        self.done += count


def add_both(registry: RoughRegistry) -> tuple[Manifest, Manifest, Manifest]:
    one = registry.add_image("a/b", "", LAYERS, "amd64")
    other = registry.add_image("a/b", "", [LAYERS[0], b"arm"], "arm64")
    return registry.add_index("a/b", "v1", {"amd64": one, "arm64": other}), one, other


def assert_whole(store: Store, root: Descriptor) -> None:
    for part in store.walk(root):
        assert digest_of(store.blobs.path(part.digest).read_bytes()) == part.digest
    assert not [*(store.root / "partial").iterdir()]
