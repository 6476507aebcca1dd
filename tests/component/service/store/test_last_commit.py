# SPDX-License-Identifier: Apache-2.0
"""The sidecar file of a SQLite database: commits that a damaged write-ahead log loses are noticed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from muster.service.realm import Realm
from muster.service.store.last_commit import Head, LastCommit, read_head, sidecar_of
from muster.service.store.looking import look_at
from muster.service.store.open import FILE, open_store
from muster.service.store.port import Change
from tests.realms import begin, rename


def crashed_copy(folder: Path, to: Path, realm: Realm, names: int) -> None:
    """A database as a killed service leaves it, with some commits in its write-ahead log alone."""
    with closing(open_store(folder)) as store:
        store.commit([begin(realm)])
        for number in range(names):
            store.commit([rename(realm, f"n{number}")])
        shutil.copytree(folder, to)


def cut(wal: Path) -> None:
    wal.write_bytes(wal.read_bytes()[:-100])


def flip(wal: Path) -> None:
    data = bytearray(wal.read_bytes())
    data[len(data) // 2] ^= 0xFF
    wal.write_bytes(bytes(data))


def remove(wal: Path) -> None:
    wal.unlink()


@pytest.mark.parametrize("damage", [cut, flip])
def test_commits_that_a_damaged_log_loses_are_noticed(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    crashed_copy(tmp_path / "a", tmp_path / "b", Realm("c1"), 5)
    damage(tmp_path / "b" / f"{FILE}-wal")
    with closing(look_at(tmp_path / "b")) as look:
        assert "lost commits that were acknowledged" in look.lost
    with closing(open_store(tmp_path / "b")) as store:
        assert "lost commits that were acknowledged" in store.lost
        assert "expected 6" in store.lost


def test_a_log_that_is_gone_is_noticed(tmp_path: Path) -> None:
    crashed_copy(tmp_path / "a", tmp_path / "b", Realm("c1"), 2)
    remove(tmp_path / "b" / f"{FILE}-wal")
    with closing(open_store(tmp_path / "b")) as store:
        assert "3 events and 3 changes are missing (last event 0, expected 3)" in store.lost


def test_a_crash_without_damage_is_no_loss_and_nor_is_an_older_sidecar(tmp_path: Path) -> None:
    crashed_copy(tmp_path / "a", tmp_path / "b", Realm("c1"), 3)
    sidecar = sidecar_of(tmp_path / "b" / FILE)
    head = read_head(tmp_path / "b" / FILE)
    assert head is not None
    assert (head.sequence, head.commits) == (4, 4)
    for content in (sidecar.read_bytes(), b"", b"\0" * 200, b"garbage", None):
        sidecar.unlink()
        if content is not None:
            sidecar.write_bytes(content)
        with closing(look_at(tmp_path / "b")) as look:
            assert look.lost == ""
    with closing(open_store(tmp_path / "b")) as store:
        assert store.lost == ""
    older = read_head(tmp_path / "b" / FILE)
    assert older is None, "nothing was committed since"


def test_an_event_that_is_another_one_is_noticed(tmp_path: Path) -> None:
    """A database that was put back and then went on has as many events, but others."""
    realm, other = Realm("c1"), Realm("c1")
    crashed_copy(tmp_path / "a", tmp_path / "b", realm, 1)
    with closing(open_store(tmp_path / "c")) as store:
        store.commit([begin(other)])
        store.commit([rename(other, "different")])
        store.commit([rename(other, "more")])
    shutil.copy(sidecar_of(tmp_path / "b" / FILE), sidecar_of(tmp_path / "c" / FILE))
    with closing(open_store(tmp_path / "c")) as store:
        assert "another history" in store.lost


def test_a_commit_of_files_alone_counts(tmp_path: Path) -> None:
    realm = Realm("c1")
    with closing(open_store(tmp_path / "a")) as store:
        store.commit([begin(realm)])
        store.commit([Change("c1", 2, (), {}, {("c1", "file/x"): b"x"})])
        shutil.copytree(tmp_path / "a", tmp_path / "b")
    cut(tmp_path / "b" / f"{FILE}-wal")
    with closing(open_store(tmp_path / "b")) as store:
        assert "0 events and 1 changes are missing" in store.lost


def test_the_sidecar_never_goes_back(tmp_path: Path) -> None:
    sidecar = LastCommit(tmp_path / FILE)
    sidecar.write(Head(7, 5))
    sidecar.write(Head(6, 4))
    sidecar.close()
    sidecar.write(Head(9, 9))
    assert read_head(tmp_path / FILE) == Head(7, 5)
    assert sidecar_of(tmp_path / FILE).stat().st_mode & 0o777 == 0o600
