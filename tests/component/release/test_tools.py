# SPDX-License-Identifier: Apache-2.0
"""Stores and archives between Muster and the tools that others use: skopeo and podman."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import pytest

from muster.release.store.store import Store, create_store, open_store
from muster.release.store.verify import verify_store
from tests.component.muster import run
from tests.component.release.mounts import call
from tests.stores import NAME, OTHER, noise, put_image, put_index


def layer(seed: int) -> bytes:
    """A layer with one file."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        entry = tarfile.TarInfo(f"file{seed}")
        entry.size = 20_000
        archive.addfile(entry, io.BytesIO(noise(seed)))
    return out.getvalue()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = create_store(tmp_path / "store")
    put_image(made, [layer(1), layer(2)], NAME)
    put_image(made, [layer(1), layer(3)], OTHER)
    return made


def inspect(image: str) -> str:
    """The digest that skopeo sees."""
    return str(json.loads(call("skopeo", "inspect", image))["Digest"])


def assert_holds(root: Path, *names: str) -> None:
    report = verify_store(open_store(root), full=True)
    assert report.is_good
    assert report.whole == names


def test_skopeo_reads_a_store(store: Store, tmp_path: Path) -> None:
    for name, image in store.contents().images.items():
        assert inspect(f"oci:{store.root}:{name}") == image.digest
    call("skopeo", "copy", "-q", f"oci:{store.root}:{NAME}", f"dir:{tmp_path}/dir")
    index = put_index(
        store, [put_image(store, [layer(4)]), put_image(store, [layer(5)])], "r.example.com/m:1"
    )
    copy = ("skopeo", "copy", "-q", "--all", "--preserve-digests")
    call(*copy, f"oci:{store.root}:r.example.com/m:1", f"oci:{tmp_path}/all:m")
    assert run("store", "import", tmp_path / "new", tmp_path / "all", "--as", "r.example.com/m:1").status == 0
    assert open_store(tmp_path / "new").contents().images["r.example.com/m:1"].digest == index.digest


def test_what_skopeo_adds_to_a_store_stays(store: Store, tmp_path: Path) -> None:
    """Another tool may write into the layout; what it wrote is not lost by our next change."""
    call("skopeo", "copy", "-q", f"oci:{store.root}:{NAME}", f"oci:{store.root}:theirs")
    store.name({"r.example.com/ours:1": store.contents().images[OTHER]})
    assert run("store", "gc", store.root).status == 0
    assert inspect(f"oci:{store.root}:theirs")
    assert_holds(store.root, "r.example.com/ours:1", OTHER, NAME, "theirs")


def test_skopeo_reads_our_archives(store: Store, tmp_path: Path) -> None:
    archive, docker = tmp_path / "oci.tar", tmp_path / "docker.tar"
    assert run("store", "export", store.root, archive).status == 0
    assert run("store", "export", store.root, docker, "--format", "docker").status == 0
    for name, image in store.contents().images.items():
        assert inspect(f"oci-archive:{archive}:{name}") == image.digest
        call("skopeo", "copy", "-q", f"docker-archive:{docker}:{name}", f"oci:{tmp_path}/back:{name}")


def test_archives_of_skopeo_come_in(store: Store, tmp_path: Path) -> None:
    call("skopeo", "copy", "-q", f"oci:{store.root}:{NAME}", f"docker-archive:{tmp_path}/d.tar:{NAME}")
    call("skopeo", "copy", "-q", f"oci:{store.root}:{OTHER}", f"oci-archive:{tmp_path}/o.tar:v2")
    target = tmp_path / "new"
    assert run("store", "import", target, tmp_path / "d.tar").status == 0
    nameless = run("store", "import", target, tmp_path / "o.tar")
    assert nameless.status == 1
    assert "is called 'v2' only" in nameless.err
    assert run("store", "import", target, tmp_path / "o.tar", "--as", OTHER.removesuffix(":v2")).status == 0
    assert_holds(target, OTHER, NAME)
    assert open_store(target).contents().images[NAME] == store.contents().images[NAME]


def test_podman_loads_and_saves(store: Store, tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="muster-") as scratch:  # Podman takes no long paths.
        load_and_save(store, tmp_path, Path(scratch))


def load_and_save(store: Store, tmp_path: Path, scratch: Path) -> None:
    podman = ("podman", "--root", scratch / "root", "--runroot", scratch / "run", "--storage-driver", "vfs")
    docker, one = tmp_path / "docker.tar", tmp_path / "one.tar"
    assert run("store", "export", store.root, docker, NAME, "--format", "docker").status == 0
    assert run("store", "export", store.root, one, OTHER).status == 0
    for path, name in ((docker, NAME), (one, OTHER)):
        assert name in call(*podman, "load", "-i", path)
    call(*podman, "save", "-q", "--multi-image-archive", "-o", tmp_path / "both.tar", NAME, OTHER)
    call(*podman, "save", "-q", "--format", "oci-archive", "-o", tmp_path / "oci.tar", NAME)
    (tmp_path / "both.tar.gz").write_bytes(gzip.compress((tmp_path / "both.tar").read_bytes(), 1))
    for number, source in enumerate(("both.tar", "both.tar.gz")):
        target = tmp_path / f"new{number}"
        assert run("store", "import", target, tmp_path / source).status == 0
        assert_holds(target, OTHER, NAME)
    assert run("store", "import", tmp_path / "oci", tmp_path / "oci.tar").status == 0


def test_a_store_goes_through_a_pipe(store: Store, tmp_path: Path) -> None:
    """As over ssh, to a machine that has nothing else."""
    muster = [sys.executable, "-m", "muster.cli", "store"]
    with subprocess.Popen([*muster, "export", store.root, "-"], stdout=subprocess.PIPE) as sender:
        assert sender.stdout is not None
        receiver = subprocess.run(
            [*muster, "import", tmp_path / "new", "-"], stdin=sender.stdout, check=False
        )
        assert receiver.returncode == 0
        sender.stdout.close()
    assert sender.returncode == 0
    assert_holds(tmp_path / "new", OTHER, NAME)
    assert open_store(tmp_path / "new").index() == store.index()
