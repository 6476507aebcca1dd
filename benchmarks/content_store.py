# SPDX-License-Identifier: Apache-2.0
"""How fast a content store of 1 GB is imported and verified byte by byte, against plain SHA-256.

    python benchmarks/content_store.py [FOLDER]

Baseline: one thread that reads the same blobs and hashes them, as `sha256sum` does, measured in the same run.
FOLDER is where the stores go: the disk decides, because an import ends when all is on it. What the disk alone
takes is measured, too: the same blobs copied and flushed without hashing. Each figure is the least of several
runs, taken in turns. The CPU time tells what is left of it when something else runs on the machine.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from muster.release.oci.manifest import OCI_CONFIG, OCI_LAYER, Descriptor, render_manifest
from muster.release.store.exchange.bring import bring_images
from muster.release.store.exchange.names import settle_names
from muster.release.store.exchange.opening import open_source
from muster.release.store.exchange.save import new_file, save_archive
from muster.release.store.store import Store, create_store, open_store
from muster.release.store.verify import verify_store

RUNS = 5
IMAGES = 20
OWN = 48_000_000
SHARED = 40_000_000
CHUNK = 1 << 20


def build_store(root: Path) -> Store:
    """Images with a layer of their own each, and one that all of them share."""
    store, noise = create_store(root), random.Random(1)
    shared = keep(store, noise.randbytes(SHARED))
    for number in range(IMAGES):
        layers = [shared, keep(store, noise.randbytes(OWN))]
        config = store.blobs.put(b'{"image":%d}' % number)
        size = store.blobs.size(config)
        assert size is not None
        manifest = render_manifest(Descriptor(OCI_CONFIG, config, size), layers)
        store.blobs.put(manifest.data)
        store.name({f"registry.example.com/bench/image{number}:v1": manifest.descriptor})
    return store


def keep(store: Store, data: bytes) -> Descriptor:
    return Descriptor(OCI_LAYER, store.blobs.put(data), len(data))


@dataclass(frozen=True)
class Cost:
    """What some work took."""

    wall_s: float
    cpu_s: float


def cost(work: Callable[[], object]) -> Cost:
    wall, cpu = time.monotonic(), time.process_time()
    work()
    return Cost(time.monotonic() - wall, time.process_time() - cpu)


def hash_plainly(store: Store) -> None:
    """The baseline."""
    for digest, _ in store.blobs.everything():
        hashed, buffer = hashlib.sha256(), bytearray(CHUNK)
        view = memoryview(buffer)
        with store.blobs.path(digest).open("rb", buffering=0) as file:
            while count := file.readinto(buffer):
                hashed.update(view[:count])
        assert f"sha256:{hashed.hexdigest()}" == digest


def write_plainly(store: Store, folder: Path) -> None:
    """What the disk alone takes."""
    folder.mkdir()
    for digest, _ in store.blobs.everything():
        path = folder / digest
        shutil.copyfile(store.blobs.path(digest), path)
        with path.open("rb") as file:
            os.fsync(file.fileno())


def bring(source: Path, target: Path) -> None:
    with open_source(source, target.parent) as opened:
        brought = bring_images(create_store(target), opened, settle_names(opened.images()))
    assert len(brought.images) == IMAGES


def verify(root: Path) -> None:
    assert verify_store(open_store(root), full=True).is_good


def clear(folder: Path) -> None:
    """The same start for everybody: nothing to write back."""
    shutil.rmtree(folder, ignore_errors=True)
    os.sync()


def on_disk(root: Path) -> int:
    """What a store takes: all files and folders, by their blocks."""
    return sum(path.lstat().st_blocks * 512 for path in (root, *root.rglob("*")))


def warm(*sources: Path) -> None:
    """Have all that is read in memory: what is measured is not how fast the disk reads."""
    buffer = bytearray(CHUNK)
    for source in sources:
        for path in [source, *source.rglob("*")]:
            if path.is_file():
                with path.open("rb", buffering=0) as file:
                    while file.readinto(buffer):
                        pass


def measure(works: dict[str, Callable[[], object]], target: Path, *sources: Path) -> dict[str, Cost]:
    """The least of each, taken in turns."""
    costs: dict[str, list[Cost]] = {name: [] for name in works}
    for _ in range(RUNS):
        for name, work in works.items():
            clear(target)
            warm(*sources)
            costs[name].append(cost(work))
    return {
        name: Cost(min(each.wall_s for each in taken), min(each.cpu_s for each in taken))
        for name, taken in costs.items()
    }


def main() -> None:
    """Print all figures."""
    where = sys.argv[1] if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory(dir=where) as folder:
        scratch = Path(folder)
        store, archive, target = build_store(scratch / "store"), scratch / "store.tar", scratch / "target"
        size = sum(size for _, size in store.blobs.everything())
        with new_file(archive) as write:
            save_archive(store, store.contents().images, write, docker=False)
        works: dict[str, Callable[[], object]] = {
            "SHA-256, one thread": lambda: hash_plainly(store),
            "import from a store": lambda: bring(store.root, target),
            "verify every byte": lambda: verify(store.root),
            "import from an archive": lambda: bring(archive, target),
            "copy and flush, no hashing": lambda: write_plainly(store, target),
        }
        costs = measure(works, target, store.root, archive)
        clear(target)
        bring(store.root, target)
        again = cost(lambda: bring(store.root, target))
        share = on_disk(target) / size
    tell(costs, size)
    print(f"{'import, all is there':<30}{again.wall_s:>8.2f} s")
    print(f"{'store / unique blobs':<30}{share:>10.4f}   at most 1.01")
    print(f"{'unique blobs / all blobs':<30}{size / (IMAGES * (OWN + SHARED)):>10.2f}")


def tell(costs: dict[str, Cost], size: int) -> None:
    """Rates, and their ratios to that of SHA-256."""
    plain = costs["SHA-256, one thread"]
    print(f"{size / 1e9:.2f} GB")
    for name, taken in costs.items():
        ratio = "the baseline" if taken is plain else f"{plain.wall_s / taken.wall_s:.2f} of it"
        print(f"{name:<30}{size / taken.wall_s / 1e6:>5.0f} MB/s{taken.cpu_s:>8.2f} s CPU   {ratio}")
    both = costs["import from a store"].wall_s + costs["verify every byte"].wall_s
    rate = 2 * size / both / 1e6
    print(f"{'import and verify':<30}{rate:>5.0f} MB/s{'':14}   {2 * plain.wall_s / both:.2f}, at least 0.80")


if __name__ == "__main__":
    main()
