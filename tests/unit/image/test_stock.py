# SPDX-License-Identifier: Apache-2.0
"""What counts as a part of the cache: names of our forms, in a directory that is marked as ours."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from muster.errors import UserError
from muster.folders import TAG, TAG_FILE
from muster.image.cache.places import key_of
from muster.image.cache.stock import Kind, Verdict, find_items, remove_item, sweep, verify_image
from muster.image.cache.store import Cache
from muster.image.progress import SILENT

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
THEIRS = (
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
    fill(cache.root, OURS + THEIRS)
    found = {(item.kind, item.key) for item in find_items(cache)}
    assert found == {(Kind.IMAGE, SHA256), (Kind.PARTIAL, KEY), (Kind.DERIVED, SHA256)}
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
