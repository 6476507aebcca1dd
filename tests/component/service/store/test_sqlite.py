# SPDX-License-Identifier: Apache-2.0
"""SQLite when its disk is full, its file is held, damaged, old or new."""

from __future__ import annotations

import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from muster.errors import MusterError, UserError
from muster.service.realm import Event, Realm
from muster.service.state import Subject
from muster.service.store import sqlite
from muster.service.store.open import FILE, open_store
from muster.service.store.port import StoreError, UnavailableError, encode
from muster.service.store.schema import load_steps
from muster.service.store.sqlite import SqliteStore
from tests.realms import begin, decide, rename

MB = 1 << 20


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A file system of its own, in memory, that is soon full."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


@pytest.mark.usefixtures("root")
def test_a_full_disk_costs_only_what_does_not_fit(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as folder, closing(open_store(folder)) as store:
        realm = Realm("c1")
        store.commit([begin(realm)])
        before = list(store.load())
        large = decide(Realm("c1", 1), lambda draft: draft.documents.update({("c1", "a"): bytes(4 * MB)}))
        with pytest.raises(StoreError) as caught:
            store.commit([large])
        assert "full" in caught.value.message
        assert "free some space" in caught.value.hint
        assert not isinstance(caught.value, UnavailableError)
        assert list(store.load()) == before
        assert store.documents("c1") == {}
        store.commit([rename(realm, "still works")])
        assert list(store.load()) == [realm]


@pytest.mark.usefixtures("root")
def test_it_goes_on_when_there_is_space_again(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as folder, closing(open_store(folder)) as store:
        realm = Realm("c1")
        store.commit([begin(realm)])
        other = folder / "other"
        other.write_bytes(bytes(shutil.disk_usage(folder).free - 8 * 4096))
        written = 0
        with pytest.raises(StoreError, match="full"):  # noqa: PT012 - Nobody knows which one it is.
            for written in range(1000):
                store.commit([rename(realm, str(written))])
        (found,) = store.load()
        assert found.version == written + 1
        other.unlink()
        store.commit([rename(found, "free")])
        assert list(store.load()) == [found]


@pytest.mark.usefixtures("root")
def test_scrub_without_space_leaves_a_store_that_works(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as folder:
        realm = Realm("c1")
        with closing(open_store(folder)) as store:
            store.commit([begin(realm)])
            large = decide(realm, lambda draft: draft.documents.update({("c1", "a"): bytes(MB * 3 // 4)}))
            store.commit([large])
        with closing(open_store(folder)) as store:
            (folder / "other").write_bytes(bytes(shutil.disk_usage(folder).free - MB // 2))
            with pytest.raises(StoreError, match="full"):
                store.scrub()
            assert shutil.disk_usage(folder).free > MB // 4, "the journal is cut again"
            store.commit([rename(realm, "still works")])
            assert list(store.load()) == [realm]


def test_scrub_fails_while_another_program_reads_the_journal(tmp_path: Path) -> None:
    with (
        closing(SqliteStore(tmp_path / FILE, patience_s=0.1)) as store,
        closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as other,
    ):
        store.commit([begin(Realm("c1"))])
        other.execute("BEGIN")
        other.execute("SELECT * FROM realms").fetchall()
        with pytest.raises(UnavailableError, match="reads the journal"):
            store.scrub()
        other.execute("COMMIT")
        store.scrub()
        assert (tmp_path / f"{FILE}-wal").stat().st_size == 0


def test_a_file_that_another_program_holds(tmp_path: Path) -> None:
    realm = Realm("c1")
    with closing(SqliteStore(tmp_path / FILE, patience_s=0.1)) as store:
        store.commit([begin(realm)])
        change = rename(realm, "b")
        script = (
            "import sqlite3, sys; db = sqlite3.connect(sys.argv[1], isolation_level=None);"
            "db.execute('BEGIN EXCLUSIVE'); print('held', flush=True); input(); db.close()"
        )
        with subprocess.Popen(
            [sys.executable, "-c", script, tmp_path / FILE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == "held\n"
            with pytest.raises(UnavailableError) as caught:
                store.commit([change])
            assert "end the other program" in caught.value.hint
            assert [each.version for each in store.load()] == [1]
            other.communicate("\n")
        store.commit([change])
        assert list(store.load()) == [realm]


@pytest.mark.parametrize("content", [b"this is no database" * 100, b"SQLite format 3\0" + b"\xff" * 4096])
def test_a_file_that_is_no_database(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(StoreError) as caught:
        open_store(tmp_path)
    assert str(tmp_path / FILE) in caught.value.message
    assert "copy" in caught.value.hint
    assert (tmp_path / FILE).read_bytes() == content


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    with closing(open_store(tmp_path)) as store:
        store.commit([begin(Realm("c1"), hosts=1)])
        with sqlite3.connect(tmp_path / FILE) as db:
            db.execute("UPDATE subjects SET body = '{}' WHERE kind = 'host'")
            db.execute("UPDATE events SET body = '[' WHERE sequence = 1")
        db.close()
        with pytest.raises(StoreError, match="what is stored of host h0 cannot be read"):
            store.load()
        with pytest.raises(StoreError, match="what is stored of event 1 cannot be read"):
            list(store.log())


def test_a_file_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    open_store(tmp_path).close()
    with sqlite3.connect(tmp_path / FILE) as db:
        db.execute("PRAGMA user_version=99")
    db.close()
    with pytest.raises(UserError) as caught:
        open_store(tmp_path)
    assert f"schema 99; this one knows {len(FIRST)}" in caught.value.message
    assert "newer Muster" in caught.value.hint


FIRST = load_steps("sqlite")
SECOND = ("ALTER TABLE realms ADD COLUMN note TEXT NOT NULL DEFAULT 'old'; CREATE TABLE extra (a TEXT)",)
BROKEN = ("CREATE TABLE half (a TEXT); CREATE TABLE realms (a TEXT)",)


def test_an_older_file_is_brought_forward(tmp_path: Path) -> None:
    path, realm = tmp_path / FILE, Realm("c1")
    with closing(SqliteStore(path, steps=FIRST)) as store:
        store.commit([begin(realm, hosts=2)])
    with closing(SqliteStore(path, steps=FIRST + SECOND)) as store:
        assert list(store.load()) == [realm]
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT note FROM realms").fetchall() == [("old",)]
        assert db.execute("PRAGMA user_version").fetchone() == (len(FIRST) + 1,)
    with pytest.raises(UserError, match="newer Muster"):
        SqliteStore(path, steps=FIRST)


def test_a_step_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    path, realm = tmp_path / FILE, Realm("c1")
    with closing(SqliteStore(path)) as store:
        store.commit([begin(realm)])
    with pytest.raises(StoreError, match="realms already exists"):
        SqliteStore(path, steps=FIRST + BROKEN)
    with closing(SqliteStore(path)) as store:
        assert list(store.load()) == [realm]
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT name FROM sqlite_master WHERE name = 'half'").fetchall() == []


def test_several_that_start_at_once_make_one_schema(tmp_path: Path) -> None:
    trouble: list[BaseException] = []

    def start() -> None:
        try:
            open_store(tmp_path).close()
        except MusterError as error:
            trouble.append(error)

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert trouble == []
    with closing(open_store(tmp_path)) as store:
        assert list(store.load()) == []


def test_nobody_else_may_read_it(tmp_path: Path) -> None:
    with closing(open_store(tmp_path / "new/folder")) as store:
        store.commit([begin(Realm("c1"))])
        files = sorted((tmp_path / "new/folder").iterdir())
        assert [file.name for file in files] == [FILE, f"{FILE}-shm", f"{FILE}-wal", f"{FILE}.last-commit"]
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE((tmp_path / "new/folder").stat().st_mode) == 0o700


def test_who_reads_sees_only_what_is_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the middle of a commit the state is the one of before, and reading does not wait."""
    seen: list[list[Realm]] = []
    with closing(open_store(tmp_path)) as store:
        realm = Realm("c1")
        store.commit([begin(realm)])
        before = list(store.load())

        def look(body: Event | Subject) -> bytes:
            seen.append(list(store.load()))
            return encode(body)

        monkeypatch.setattr(sqlite, "encode", look)
        store.commit([rename(realm, "b")])
        assert seen == [before, before]
        assert list(store.load()) == [realm]
