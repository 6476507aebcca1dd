# SPDX-License-Identifier: Apache-2.0
"""Stores on media and file systems of all sorts: read-only, damaged, full, and such that share blocks."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from muster.errors import ExternalError
from muster.release.oci.digest import digest_of, hex_of
from muster.release.store.store import Store, create_store
from muster.release.store.verify import verify_store
from tests.component.muster import run
from tests.component.release.mounts import MIB, call, make_iso, mounted, mounted_iso
from tests.stores import NAME, OTHER, make_store, noise, put_image, take_in

pytestmark = pytest.mark.usefixtures("root")
BLOCK = 4096
BIG = "registry.example.com/app/big:v1"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = make_store(tmp_path / "store")
    put_image(made, [noise(7, 4 * MIB)], BIG)
    return made


def files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_a_medium_has_the_very_same_layout(store: Store, tmp_path: Path) -> None:
    image = make_iso(store.root, tmp_path / "store.iso")
    with mounted_iso(tmp_path / "mnt", image) as medium:
        assert files(medium) == files(store.root)
        listed = json.loads(run("store", "list", medium, "-o", "json").out)
        assert [each["name"] for each in listed["images"]] == sorted(store.contents().images)
        assert run("store", "verify", "--full", medium).status == 0
        assert run("store", "gc", "--dry-run", medium).status == 0
        assert run("store", "export", medium, tmp_path / "copy").status == 0
        assert run("store", "export", medium, tmp_path / "copy.tar", NAME).status == 0
    assert verify_store(create_store(tmp_path / "copy"), full=True).is_good
    assert run("store", "import", tmp_path / "again", tmp_path / "copy.tar").status == 0


def test_writing_to_a_medium_is_refused_in_words(store: Store, tmp_path: Path) -> None:
    put_image(store, [noise(8)], "registry.example.com/app/more:v1")
    call("openssl", "genpkey", "-algorithm", "ed25519", "-out", tmp_path / "sign.key")
    image = make_iso(store.root, tmp_path / "store.iso")
    with mounted_iso(tmp_path / "mnt", image) as medium:
        for verb in (
            ("gc", medium),
            ("gc", medium, "--forget", NAME),
            ("import", medium, store.root),
            ("sign", medium, "--key", tmp_path / "sign.key"),
            ("export", store.root, medium),
        ):
            result = run("store", *verb)
            assert result.status == 1
            assert "it is on a read-only medium" in result.err
            assert "hint: `muster store export`" in result.err


def test_a_damaged_medium_tells_who_is_hit(store: Store, tmp_path: Path) -> None:
    """Some of the disk is gone: reading there is an error of the device."""
    image, big = tmp_path / "disk.img", digest_of(noise(7, 4 * MIB))
    with image.open("wb") as file:
        file.truncate(64 * MIB)
    call("mkfs.ext4", "-q", "-b", str(BLOCK), "-O", "^has_journal", "-d", store.root, image)
    first = int(call("debugfs", "-R", f"blocks /blobs/sha256/{hex_of(big)}", image).split()[10])
    with mounted(tmp_path / "mnt", "-o", "loop,ro", image) as medium:
        for path in medium.rglob("*"):
            # What was read before is in memory, and can be read again.
            assert not path.is_file() or path.name == hex_of(big) or path.read_bytes()
        os.truncate(image, first * BLOCK)
        result = run("store", "verify", "--full", medium, "-o", "json")
        exported = run("store", "export", medium, tmp_path / "copy.tar")
        copied = run("store", "export", medium, tmp_path / "copy", "-o", "json")
    report = json.loads(result.out)
    assert result.status == 1
    (fault,) = report["faults"]
    assert (fault["digest"], fault["flaw"], fault["images"]) == (big, "unreadable", [BIG])
    assert "input/output error" in fault["detail"]
    assert (report["whole"], report["broken"]) == ([OTHER, NAME], [BIG])
    assert exported.status == 1
    assert "input/output error" in exported.err
    assert not (tmp_path / "copy.tar").exists()
    assert copied.status == 1
    assert json.loads(copied.out)["images"] == [OTHER, NAME]


def test_blocks_are_shared_where_the_file_system_can(tmp_path: Path) -> None:
    """A copy of a store fits beside it on a disk that has no room for a second one."""
    image = tmp_path / "disk.img"
    with image.open("wb") as file:
        file.truncate(160 * MIB)
    call("mkfs.btrfs", "-q", "-M", "-m", "single", "-d", "single", image)
    with mounted(tmp_path / "mnt", "-o", "loop", image) as disk:
        store = create_store(disk / "store")
        put_image(store, [noise(1, 80 * MIB)], NAME)
        result = run("store", "export", disk / "store", disk / "copy")
        assert result.status == 0, result.err
        copy = create_store(disk / "copy")
        assert verify_store(copy, full=True).is_good
        assert copy.blobs.path(digest_of(noise(1, 80 * MIB))).stat().st_nlink == 1


def test_a_full_disk(store: Store, tmp_path: Path) -> None:
    with mounted(tmp_path / "mnt", "-t", "tmpfs", "-o", "size=2m", "tmpfs") as disk:
        small = make_store(disk / "store")
        refused = run("store", "import", small.root, store.root)
        assert refused.status == 1
        assert "4.0 MiB are missing" in refused.err
        with pytest.raises(ExternalError, match="no space left on device"):
            take_in(small, noise(7, 4 * MIB))
        assert small.blobs.size(digest_of(noise(7, 4 * MIB))) is None
        before = small.index()
        with pytest.raises(ExternalError, match="no space left on device"):
            put_image(small, [noise(9)], "registry.example.com/app/late:v1")
        assert small.index() == before
        assert verify_store(small, full=True).is_good
        exported = run("store", "export", small.root, disk / "copy.tar")
        assert exported.status == 1
        assert "no space left on device" in exported.err
        assert [path.name for path in disk.iterdir()] == ["store"]
        assert run("store", "gc", small.root).status == 0, "what was left of the transfer goes"
        assert not small.blobs.partial()
        put_image(small, [noise(9)], "registry.example.com/app/late:v1")
        assert verify_store(small, full=True).whole == (OTHER, "registry.example.com/app/late:v1", NAME)
