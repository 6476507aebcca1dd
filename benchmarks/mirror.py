# SPDX-License-Identifier: Apache-2.0
"""How long `muster release mirror` takes for a release of 192 images that is all there, and what it reads.

    python benchmarks/mirror.py

The copy is a store, then Docker's own registry on this machine. Baseline: `muster version`, which is what any
command takes to start. Each figure is the least of several runs; the CPU time is that of the command alone,
and tells what is left of it when something else runs on the machine. Blobs that are read are counted in the
registry's own log.
"""

from __future__ import annotations

import os
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.component.release.payload import REGISTRY, Shape, StoreKeeper, make_release

from muster.image.cache.places import find_cache_root
from muster.lab.services.registry import Registry, describe_registry
from muster.lab.services.service import Place, start_service
from muster.release.oci.manifest import Descriptor, Manifest
from muster.release.store.store import Store, create_store
from muster.toolbox import open_toolbox

RUNS = 5
COMPONENTS = 190


class Quick(StoreKeeper):
    """Names all images at the end."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.names: dict[str, Descriptor] = {}

    def add_manifest(self, repository: str, tag: str, manifest: Manifest) -> Manifest:
        self.store.blobs.put(manifest.data)
        name = f":{tag}" if tag else f"@{manifest.digest}"
        self.names[f"{REGISTRY}/{repository}{name}"] = manifest.descriptor
        return manifest


def build_store(root: Path) -> Store:
    store = create_store(root)
    keeper = Quick(store)
    make_release(keeper, Shape(components=tuple(f"component-{number}" for number in range(COMPONENTS))))
    store.name(keeper.names)
    return store


def muster(cache: Path, *arguments: str | Path) -> tuple[float, float]:
    """Wall and CPU seconds of a command."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(
        [sys.executable, "-m", "muster.cli", *map(str, arguments)],
        check=True,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "MUSTER_CACHE": str(cache)},
    )
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def least(cache: Path, *arguments: str | Path) -> str:
    runs = [muster(cache, *arguments) for _ in range(RUNS)]
    return f"{min(wall for wall, _ in runs):.2f} s ({min(cpu for _, cpu in runs):.2f} s CPU)"


@contextmanager
def docker_registry(folder: Path) -> Iterator[tuple[str, Path]]:
    """Docker's registry on a free port, and its log."""
    toolbox = open_toolbox(find_cache_root(None, os.environ, Path.home))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    service = describe_registry(Registry("127.0.0.1", port), program=toolbox.argv("docker-registry"))
    pid = start_service(service, Place(folder))
    try:
        yield f"127.0.0.1:{port}", folder / "registry" / "log"
    finally:
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        store, cache, copy = build_store(root / "store"), root / "cache", root / "copy"
        print(f"start of any command: {least(cache, 'version')}")
        muster(cache, "release", "mirror", store.root, copy)
        print(f"store, all there: {least(cache, 'release', 'mirror', store.root, copy)}")
        with docker_registry(root / "services") as (host, log):
            flags = ("release", "mirror", store.root, f"{host}/mirror", "--insecure", host)
            muster(cache, *flags)
            seen = log.stat().st_size
            print(f"registry, all there: {least(cache, *flags)}")
            asked = log.read_text("utf-8", "replace")[seen:]
            blobs = len(re.findall(r'"GET /v2/[^"]*/blobs/', asked))
            print(f"blobs read from the registry: {blobs}; load of the machine: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
