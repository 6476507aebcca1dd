# SPDX-License-Identifier: Apache-2.0
"""`muster release extract`: a program out of an image at a registry, as nodes take it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.release.oci.manifest import Manifest
from muster.release.store.store import create_store
from tests.component.muster import Result, run
from tests.component.release.served import Served, make_papers, start_registry
from tests.component.release.test_layers import tar
from tests.stores import noise, put_image

KUBE = noise(7, 300_000)
HASH = hashlib.sha256(KUBE).hexdigest()
NAME = "muster.local/kubernetes/kube"


@pytest.fixture
def image(tmp_path: Path) -> Manifest:
    store = create_store(tmp_path / "store")
    return put_image(store, [tar({"usr/bin/kube": KUBE, "usr/bin/etcd": "kube"})], f"{NAME}:v1")


@pytest.fixture
def served(image: Manifest, tmp_path: Path) -> Iterator[Served]:
    with start_registry(tmp_path / "store", tmp_path) as made:
        yield made


@pytest.fixture
def conf(served: Served, tmp_path: Path) -> Path:
    """The file that nodes have."""
    path = tmp_path / "registries.conf"
    path.write_text(
        f'[[registry]]\nlocation = "muster.local"\nblocked = true\n'
        f'[[registry.mirror]]\nlocation = "{served.place}"\ninsecure = true\n'
    )
    return path


def extract(image: str, to: Path, *more: str | Path) -> Result:
    return run("release", "extract", image, "--path", "/usr/bin/kube", "--to", to, *more)


def test_a_node_takes_its_program(image: Manifest, conf: Path, served: Served, tmp_path: Path) -> None:
    to = tmp_path / "bin/kube"
    wanted = (f"{NAME}@{image.digest}", to, "--registries-conf", conf, "--sha256", HASH)
    first = extract(*wanted, "--output", "json")
    assert first.status == 0, first.err
    assert json.loads(first.out) == {"file": str(to), "sha256": HASH, "extracted": True}
    assert to.read_bytes() == KUBE
    assert [path.name for path in to.parent.iterdir()] == ["kube"]
    before = to.stat().st_ino
    served.end()
    again = extract(*wanted)
    assert (again.status, again.out) == (0, f"{to} is there already\n")
    assert to.stat().st_ino == before


def test_a_damaged_file_is_replaced(image: Manifest, conf: Path, tmp_path: Path) -> None:
    to = tmp_path / "kube"
    to.write_bytes(KUBE[:-1])
    done = extract(f"{NAME}@{image.digest}", to, "--registries-conf", conf, "--sha256", HASH)
    assert done.status == 0, done.err
    assert to.read_bytes() == KUBE


def test_without_a_hash_it_is_read_again(image: Manifest, conf: Path, tmp_path: Path) -> None:
    to = tmp_path / "kube"
    for _ in range(2):
        done = extract(f"{NAME}:v1", to, "--registries-conf", conf)
        assert done.status == 0, done.err
        assert "written" in done.out


def test_another_hash_leaves_all_as_it_was(image: Manifest, conf: Path, tmp_path: Path) -> None:
    to = tmp_path / "bin/kube"
    to.parent.mkdir()
    to.write_bytes(b"old")
    done = extract(f"{NAME}@{image.digest}", to, "--registries-conf", conf, "--sha256", "0" * 64)
    assert done.status == 1
    assert f"has the SHA-256 {HASH}, not 000" in done.err
    assert to.read_bytes() == b"old"
    assert [path.name for path in to.parent.iterdir()] == ["kube"]


@pytest.mark.parametrize(
    ("image_name", "more", "words"),
    [
        (f"{NAME}@sha256:{'0' * 64}", [], "cannot get muster.local/kubernetes/kube@sha256:0"),
        (f"{NAME}:v1", ["--path", "/usr/bin/nothing"], "has no file /usr/bin/nothing"),
        (f"{NAME}:v1", ["--sha256", "ABC"], "--sha256 'ABC' is no hash"),
        ("kube", [], "does not name an image"),
    ],
)
def test_what_cannot_be_had(image_name: str, more: list[str], words: str, conf: Path, tmp_path: Path) -> None:
    to = tmp_path / "bin/kube"
    done = extract(image_name, to, "--registries-conf", conf, *more)
    assert done.status == 1
    assert words in done.err
    assert "hint: " in done.err
    assert not to.exists()


def test_a_registry_with_an_authority_of_its_own(image: Manifest, tmp_path: Path) -> None:
    papers = make_papers(tmp_path / "papers")
    flags = ("--certificate", papers.certificate, "--key", papers.key)
    with start_registry(tmp_path / "store", tmp_path, *flags) as served:
        name = f"{served.place}/kubernetes/kube@{image.digest}"
        done = extract(name, tmp_path / "kube", "--ca-bundle", papers.certificate)
        assert done.status == 0, done.err


def test_what_is_on_the_disk_is_not_asked_for(image: Manifest, tmp_path: Path) -> None:
    to = tmp_path / "bin/kube"
    flags = ("--sha256", HASH, "--store", tmp_path / "store")
    done = extract(f"{NAME}@{image.digest}", to, *flags)
    assert done.status == 0, done.err
    assert f"{NAME}@{image.digest} was taken from {tmp_path / 'store'}" in done.err
    assert to.read_bytes() == KUBE


@pytest.mark.parametrize("what", ["damaged", "empty", "none"])
def test_what_the_disk_lacks_comes_from_the_registry(
    what: str, image: Manifest, conf: Path, tmp_path: Path
) -> None:
    local = tmp_path / "local"
    if what == "empty":
        create_store(local)
    elif what == "damaged":
        store = create_store(local)
        put_image(store, [tar({"usr/bin/kube": KUBE, "usr/bin/etcd": "kube"})], f"{NAME}:v1")
        path = store.blobs.path(image.layers[0].digest)
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    to = tmp_path / "bin/kube"
    flags = ("--registries-conf", conf, "--sha256", HASH, "--store", local)
    done = extract(f"{NAME}@{image.digest}", to, *flags)
    assert done.status == 0, done.err
    assert "; its registry is asked instead" in done.err
    assert to.read_bytes() == KUBE
    assert [path.name for path in to.parent.iterdir()] == ["kube"]
