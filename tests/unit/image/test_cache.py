# SPDX-License-Identifier: Apache-2.0
"""Where the cache is, what its records say, and who holds its locks."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import NoReturn

import pytest

from muster.errors import UserError
from muster.image.cache.places import NOWHERE, find_cache_root
from muster.image.cache.records import HashRecord, ImageRecord, find_record, find_time, save_record
from muster.lock import Lock, find_free_lock, take_lock


def homeless() -> NoReturn:
    raise RuntimeError("no home")


@pytest.mark.parametrize(
    ("given", "env", "root"),
    [
        ("/flag", {"MUSTER_CACHE": "/variable"}, "/flag"),
        (None, {"MUSTER_CACHE": "/variable", "XDG_CACHE_HOME": "/xdg"}, "/variable"),
        (None, {"MUSTER_CACHE": "", "XDG_CACHE_HOME": "/xdg"}, "/xdg/muster"),
        (None, {"XDG_CACHE_HOME": "relative"}, "/home/joe/.cache/muster"),
        (None, {}, "/home/joe/.cache/muster"),
    ],
)
def test_where_it_is(given: str | None, env: dict[str, str], root: str) -> None:
    assert find_cache_root(given, env, lambda: Path("/home/joe")) == Path(root)


def test_where_it_is_without_a_home() -> None:
    assert find_cache_root(None, {}, homeless) == NOWHERE
    assert find_cache_root(None, {}, lambda: Path("relative")) == NOWHERE
    with pytest.raises(UserError, match="--cache-dir is empty"):
        find_cache_root("", {}, homeless)


def test_records(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    record = ImageRecord("ab", 5, ("x", "y"), used_at="2026-01-05T10:00:00+00:00")
    save_record(path, record)
    assert find_record(path, ImageRecord) == record


def test_records_of_paths_that_are_not_utf8(tmp_path: Path) -> None:
    record = HashRecord(path=os.fsdecode(b"/srv/b\xe4se.iso"))
    save_record(tmp_path / "record.json", record)
    assert find_record(tmp_path / "record.json", HashRecord) == record


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"size_bytes": "5"}', '{"sha256": null}', '{"size_bytes": true}', "\xff"]
)
def test_records_that_make_no_sense(tmp_path: Path, text: str) -> None:
    path = tmp_path / "record.json"
    path.write_text(text, "latin-1")
    assert find_record(path, HashRecord) is None


def test_records_of_other_versions(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    path.write_text('{"sha256": "ab", "colour": "red"}')
    assert find_record(path, HashRecord) == HashRecord(sha256="ab")


def test_times() -> None:
    assert find_time("soon") is None
    naive, aware = find_time("2026-01-05T10:00:00"), find_time("2026-01-05T10:00:00+00:00")
    assert naive == aware


def fail(holder: str) -> NoReturn:
    pytest.fail(f"waited for {holder}")


def test_a_lock_is_held_by_one(tmp_path: Path) -> None:
    path = tmp_path / "locks" / "x.lock"
    with take_lock(path, on_wait=fail):
        assert find_free_lock(path) is None
    free = find_free_lock(path)
    assert free is not None
    free.release(remove=True)
    free.release()
    assert not path.exists()


@pytest.mark.parametrize("is_made_again", [False, True])
def test_a_lock_whose_file_was_removed_is_taken_anew(tmp_path: Path, is_made_again: bool) -> None:
    path = tmp_path / "x.lock"
    holder = find_free_lock(path)
    assert holder is not None
    waits = threading.Event()
    got: list[Lock] = []
    waiter = threading.Thread(target=lambda: got.append(take_lock(path, on_wait=lambda _: waits.set())))
    waiter.start()
    assert waits.wait(10)
    if is_made_again:
        path.unlink()
        path.touch()
    holder.release(remove=not is_made_again)
    waiter.join(10)
    assert got[0].waited
    assert find_free_lock(path) is None, "others see that it is held"
    got[0].release()


def test_a_lock_is_shared(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    with take_lock(path, shared=True, on_wait=fail), take_lock(path, shared=True, on_wait=fail):
        assert find_free_lock(path) is None
