# SPDX-License-Identifier: Apache-2.0
"""What counts as a part of the cache: names of our forms, in a directory that is marked as ours."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from muster.errors import UserError
from muster.folders import TAG, TAG_FILE
from muster.image.cache.made import is_open, measure
from muster.image.cache.places import key_of
from muster.image.cache.stock import (
    Kind,
    Verdict,
    find_items,
    remove_item,
    sweep,
    verify_image,
    verify_item,
)
from muster.image.cache.store import Cache
from muster.lock import take_lock
from muster.progress import SILENT

DATA = b"an image"
SHA256 = hashlib.sha256(DATA).hexdigest()
KEY = key_of("https://example.com/base.iso")
OURS = (
    f"images/{SHA256}.iso",
    f"images/{SHA256}.json",
    f"images/.{SHA256}.json.0123abcd.part",
    f"parts/{KEY}.part",
    f"parts/{KEY}.json",
    f"parts/{KEY}.unpacked",
    f"urls/{KEY}.json",
    f"hashes/{KEY}.json",
    f"leaves/{SHA256}/verity",
    f"leaves/{SHA256}/.verity.0123abcd.part",
    f"locks/image-{SHA256}.lock",
    f"locks/url-{KEY}.lock",
)
BUILD = "0123456789abcdef"
MADE = (
    f"machine-os/{BUILD}/live.iso",
    f"machine-os/root-{BUILD}/root/etc/hosts",
    f"toolbox/{BUILD}/programs/zstd",
    f"debian/apt-{BUILD}/var/lib/apt/lists/main",
    "debian/debs/bash_5.2_amd64.deb",
    "debian/debs/zlib1g_1%3a1.3_amd64.deb",
    "wheels/x86_64/click-8.5.1-py3-none-any.whl",
    f"release/programs/kube-amd64-{BUILD}/kube",
    f"release/layers/kube-amd64-{BUILD}/layer.tar.zst",
    "release/store/index.json",
    "go/modules/example.com/a@v1.0.0/a.go",
    "go/build/00/package",
    "locks/release.lock",
    "locks/machine-os.lock",
    "locks/debian.lock",
    "locks/wheels.lock",
    f"locks/toolbox-{BUILD}.lock",
)
THEIRS = (
    f"machine-os/.{BUILD}.0123abcd.part/root/etc/hosts",
    f"machine-os/{BUILD}0/notes",
    "machine-os/notes",
    "toolbox/hammer/steel",
    "debian/debs/partial/bash_5.2_amd64.deb",
    "debian/debs/lock",
    "debian/notes",
    "wheels/x86_64/bicycle",
    f"release/programs/.kube-amd64-{BUILD}.0123abcd.part/kube",
    "release/programs/notes/page",
    "release/notes",
    "go/home/notes",
    "images/windows.iso",
    "images/windows.json",
    f"images/{SHA256}.iso.bak",
    f"images/{SHA256.upper()}.iso",
    "images/.notes.part",
    f"images/{'f' * 63}.iso",
    "parts/engine.part",
    "urls/bookmarks.json",
    "hashes/shadow.json",
    "leaves/autumn/oak",
    f"leaves/{'f' * 64}",
    "locks/door.lock",
    "locks/.x.0123abcd.part",
    "uv/archive/.x.0123abcd.part",
    "coreos-installer/.video.mp4.0123abcd.part",
    "native-target/release/muster",
    ".x.0123abcd.part",
)


def fill(root: Path, names: tuple[str, ...]) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(DATA)
        os.utime(path, (0, 0))


def files(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    cache = Cache(tmp_path)
    assert not cache.unwritable
    return cache


def prune(cache: Cache) -> None:
    for item in find_items(cache):
        assert remove_item(cache, item) is Verdict.REMOVED
    sweep(cache, cache.clock(), None)


def test_all_that_is_ours_goes_and_nothing_else(cache: Cache) -> None:
    fill(cache.root, OURS + MADE + THEIRS)
    found = {(item.kind, item.key) for item in find_items(cache)}
    assert found == {
        (Kind.IMAGE, SHA256),
        (Kind.PARTIAL, KEY),
        (Kind.DERIVED, SHA256),
        (Kind.MACHINE_OS, BUILD),
        (Kind.INSTALLED, f"root-{BUILD}"),
        (Kind.TOOLBOX, BUILD),
        (Kind.LISTS, f"apt-{BUILD}"),
        (Kind.PACKAGE, "bash_5.2_amd64.deb"),
        (Kind.PACKAGE, "zlib1g_1%3a1.3_amd64.deb"),
        (Kind.WHEEL, "click-8.5.1-py3-none-any.whl"),
        (Kind.PROGRAM, f"kube-amd64-{BUILD}"),
        (Kind.LAYER, f"kube-amd64-{BUILD}"),
        (Kind.STORE, "store"),
        (Kind.GO, "modules"),
        (Kind.GO, "build"),
    }
    prune(cache)
    assert files(cache.root) == {*THEIRS, TAG_FILE}


def test_only_images_of_ours_are_judged(cache: Cache) -> None:
    fill(cache.root, THEIRS)
    damaged = f"images/{'e' * 64}.iso"
    fill(cache.root, (damaged,))
    images = [item for item in find_items(cache) if item.kind is Kind.IMAGE]
    assert [verify_image(cache, item, SILENT) for item in images] == [Verdict.REMOVED]
    assert files(cache.root) == {*THEIRS, TAG_FILE}


@pytest.mark.parametrize(
    "tag", [None, b"", TAG.partition(b"\n")[0] + b"\n# This tag was made by another program.\n"]
)
def test_a_directory_of_others_is_refused(tmp_path: Path, tag: bytes | None) -> None:
    fill(tmp_path, OURS)
    if tag is not None:
        (tmp_path / TAG_FILE).write_bytes(tag)
    before = files(tmp_path)
    cache = Cache(tmp_path)
    with pytest.raises(UserError, match="is not a cache of Muster") as caught:
        find_items(cache)
    assert "--cache-dir" in caught.value.hint
    with pytest.raises(UserError, match="is not a cache of Muster"):
        sweep(cache, cache.clock(), None)
    assert files(tmp_path) == before


def test_what_is_empty_or_missing_holds_nothing(tmp_path: Path) -> None:
    assert find_items(Cache(tmp_path)) == []
    assert find_items(Cache(tmp_path / "nowhere")) == []
    assert not files(tmp_path)


def test_a_link_in_the_place_of_a_folder_is_left_alone(cache: Cache, tmp_path: Path) -> None:
    target = tmp_path / "precious"
    fill(target, ("a",))
    (cache.root / "leaves").mkdir()
    (cache.root / "leaves" / SHA256).symlink_to(target)
    prune(cache)
    assert (target / "a").exists()


@pytest.mark.parametrize(
    ("lock", "staying"),
    [
        ("machine-os", {Kind.MACHINE_OS, Kind.INSTALLED, Kind.TOOLBOX, Kind.PACKAGE, Kind.WHEEL}),
        (f"toolbox-{BUILD}", {Kind.TOOLBOX, Kind.PACKAGE, Kind.WHEEL}),
        ("debian", {Kind.LISTS, Kind.PACKAGE}),
        ("wheels", {Kind.WHEEL}),
        ("release", {Kind.PROGRAM, Kind.LAYER, Kind.STORE, Kind.GO}),
    ],
)
def test_what_somebody_makes_or_reads_stays(cache: Cache, lock: str, staying: set[Kind]) -> None:
    fill(cache.root, MADE)
    with take_lock(cache.root / "locks" / f"{lock}.lock", on_wait=lambda _pid: None):
        verdicts = {item.kind: remove_item(cache, item) for item in find_items(cache)}
        sweep(cache, cache.clock(), None)
        assert {kind for kind, verdict in verdicts.items() if verdict is Verdict.IN_USE} == staying
        assert {item.kind for item in find_items(cache)} == staying
        assert (cache.root / "locks" / f"{lock}.lock").exists()
    prune(cache)
    assert find_items(cache) == []


def test_a_build_that_a_process_has_open_stays(cache: Cache) -> None:
    fill(cache.root, MADE)
    (build,) = [item for item in find_items(cache) if item.kind is Kind.MACHINE_OS]
    with (build.path / "live.iso").open("rb"):
        assert remove_item(cache, build) is Verdict.IN_USE
    assert remove_item(cache, build) is Verdict.REMOVED


def test_a_program_that_runs_is_a_use(tmp_path: Path) -> None:
    program = tmp_path / "toolbox/usr/bin/qemu"
    program.parent.mkdir(parents=True)
    program.touch()
    process = tmp_path / "proc/42"
    (process / "fd").mkdir(parents=True)
    (process / "exe").symlink_to(program)
    (tmp_path / "proc/43").mkdir()
    assert is_open(tmp_path / "toolbox", tmp_path / "proc")
    assert not is_open(tmp_path / "tool", tmp_path / "proc")


def test_a_build_is_verified_by_its_manifest(cache: Cache) -> None:
    fill(cache.root, MADE)
    folder = cache.root / "machine-os" / BUILD
    body = {"architecture": "x86_64", "hardware": "full", "files": {"live.iso": {"sha256": SHA256}}}
    (folder / "manifest.json").write_text(json.dumps(body))
    items = {item.kind: item for item in find_items(cache)}
    build = items[Kind.MACHINE_OS]
    assert build.origins == ("x86_64, full hardware",)
    assert verify_item(cache, build, SILENT) is Verdict.GOOD
    assert verify_item(cache, items[Kind.TOOLBOX], SILENT) is None
    (folder / "live.iso").write_bytes(b"damaged")
    assert verify_item(cache, build, SILENT) is Verdict.REMOVED
    assert not folder.exists()


def test_names_of_one_file_are_counted_once(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/a").write_bytes(bytes(100_000))
    before = measure(tmp_path / "tree")
    (tmp_path / "tree/b").hardlink_to(tmp_path / "tree/a")
    assert 100_000 <= measure(tmp_path / "tree") == before
