# SPDX-License-Identifier: Apache-2.0
"""The log and the state in one SQLite file, on the disk before a commit returns.

One connection writes and another one reads, so that who reads never sees what is not committed yet, and never
waits for the disk.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from muster.errors import MusterError, cannot
from muster.service.realm import Realm
from muster.service.store.batch import Batch, gather
from muster.service.store.last_commit import Head, LastCommit, describe_loss, digest_of, read_head
from muster.service.store.port import (
    Change,
    ConflictError,
    Ears,
    Logged,
    StoreError,
    UnavailableError,
    Wanted,
    encode,
)
from muster.service.store.rows import PAGE, make_realms, pick_told, read_logged
from muster.service.store.schema import load_steps, next_steps

_HINTS: Final = {
    sqlite3.SQLITE_FULL: "free some space on its disk",
    sqlite3.SQLITE_BUSY: "end the other program that has it open",
    sqlite3.SQLITE_NOTADB: "name another directory, or restore it from a copy",
    sqlite3.SQLITE_CORRUPT: "restore it from a copy",
    sqlite3.SQLITE_READONLY: "check the owner and mode of that file and its directory",
}
_WAL_BYTES: Final = 64 << 20
"""What is left of the journal after it was large."""
_EVENTS: Final = "SELECT sequence, realm, version, body FROM events"


class SqliteStore:
    """One file, one writer: WAL, and every commit is synced."""

    def __init__(
        self, path: Path, *, patience_s: float = 10, steps: tuple[str, ...] = load_steps("sqlite")
    ) -> None:
        self._path, self._patience_s = path, patience_s
        self._writing, self._reading = threading.Lock(), threading.Lock()
        _create(path)
        self._writer = self._connect()
        try:
            with self._trouble():
                self._writer.execute("PRAGMA journal_mode=WAL")
                self._writer.execute("PRAGMA synchronous=FULL")
                self._writer.execute(f"PRAGMA journal_size_limit={_WAL_BYTES}")
                self._migrate(steps)
            self._reader = self._connect()
            noted = read_head(path)
            self._head = self._find_head()
            self._lost = self._compare(noted, self._head)
        except MusterError:
            self._writer.close()
            raise
        self._last_commit = LastCommit(path)

    def _connect(self) -> sqlite3.Connection:
        with self._trouble():
            return sqlite3.connect(
                self._path, check_same_thread=False, isolation_level=None, timeout=self._patience_s
            )

    def _migrate(self, steps: tuple[str, ...]) -> None:
        with self._transaction() as db:  # Whoever comes second finds that all is done.
            (version,) = db.execute("PRAGMA user_version").fetchone()
            for number, step in next_steps(steps, version, str(self._path)):
                for statement in step.split(";"):
                    db.execute(statement)
                db.execute(f"PRAGMA user_version={number}")

    @contextmanager
    def _trouble(self) -> Iterator[None]:
        """Whatever SQLite has to say, in our words."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            kind = UnavailableError if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) else StoreError
            hint = _HINTS.get(code, "see that its disk is there and can be written")
            raise kind(f"{self._path}: {error}", hint=hint) from error
        except UnicodeDecodeError as error:  # What SQLite says may quote what is damaged.
            hint = _HINTS[sqlite3.SQLITE_CORRUPT]
            raise StoreError(f"{self._path}: the database is damaged", hint=hint) from error

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing."""
        db = self._writer
        with self._writing, self._trouble():
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException as error:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_FULL:
                    with suppress(sqlite3.Error):  # What did not fit shall not fill the disk any longer.
                        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                raise

    def _select(self, query: str, *values: Any) -> list[Any]:
        with self._reading, self._trouble():
            return self._reader.execute(query, values).fetchall()

    def _find_head(self) -> Head:
        """Where the database is now."""
        ((commits,),) = self._select("SELECT coalesce(sum(version), 0) FROM realms")
        rows = self._select("SELECT sequence, body FROM events ORDER BY sequence DESC LIMIT 1")
        return Head(rows[0][0], commits, digest_of(rows[0][1])) if rows else Head(commits=commits)

    def _compare(self, noted: Head | None, found: Head) -> str:
        rows = self._select("SELECT body FROM events WHERE sequence = ?", noted.sequence) if noted else []
        return describe_loss(noted, found, digest_of(rows[0][0]) if rows else None)

    @property
    def lost(self) -> str:
        return self._lost

    @property
    def is_shared(self) -> bool:
        return False

    def versions(self) -> dict[str, int]:
        return dict(self._select("SELECT id, version FROM realms"))

    def load(self, realm: str | None = None) -> Iterable[Realm]:
        return make_realms(
            self._select(
                "SELECT realms.id, version, kind, subjects.id, body FROM realms"
                " LEFT JOIN subjects ON realm = realms.id WHERE ?1 IS NULL OR realms.id = ?1",
                realm,
            )
        )

    def commit(self, changes: Sequence[Change]) -> None:
        batch = gather(changes)
        events = [(realm, version, event.name, encode(event)) for realm, version, event in batch.events]
        with self._transaction() as db:
            _take_versions(db, batch)
            db.executemany("INSERT INTO events (realm, version, name, body) VALUES (?, ?, ?, ?)", events)
            db.executemany(
                "INSERT INTO subjects VALUES (?, ?, ?, ?)"
                " ON CONFLICT (realm, kind, id) DO UPDATE SET body = excluded.body",
                [(*key, encode(body)) for key, body in batch.rows.items() if body is not None],
            )
            db.executemany(
                "DELETE FROM subjects WHERE realm = ? AND kind = ? AND id = ?",
                [key for key, body in batch.rows.items() if body is None],
            )
            db.executemany(
                "INSERT INTO documents VALUES (?, ?, ?, ?)"
                " ON CONFLICT (realm, subject, name) DO UPDATE SET body = excluded.body",
                [(*key, body) for key, body in batch.documents.items() if body is not None],
            )
            db.executemany(
                "DELETE FROM documents WHERE realm = ? AND subject = ? AND name = ?",
                [key for key, body in batch.documents.items() if body is None],
            )
            head = self._next_head(db, batch, events[-1][-1] if events else None)
        self._head = head
        self._last_commit.write(head)

    def _next_head(self, db: sqlite3.Connection, batch: Batch, last: bytes | None) -> Head:
        """Where the database is after a batch."""
        before = self._head
        commits = before.commits + sum(batch.after.values()) - sum(batch.before.values())
        if last is None:
            return Head(before.sequence, commits, before.digest)
        (sequence,) = db.execute("SELECT max(sequence) FROM events").fetchone()
        return Head(sequence, commits, digest_of(last))

    def log(self, realm: str = "", after: int = 0) -> Iterable[Logged]:
        version, start = 0, after
        while rows := self._page(realm, version, start, after):
            yield from map(read_logged, rows)
            start, _, version, _ = rows[-1]

    def _page(self, realm: str, version: int, start: int, after: int) -> list[Any]:
        if not realm:
            query = f"{_EVENTS} WHERE sequence > ? ORDER BY sequence LIMIT ?"
            return self._select(query, start, PAGE)
        # By the index of the realm, whatever else is in the log.
        query = f"{_EVENTS} WHERE realm = ? AND (version, sequence) > (?, ?) AND sequence > ?"
        return self._select(f"{query} ORDER BY version, sequence LIMIT ?", realm, version, start, after, PAGE)

    def news(self, realm: str, version: int) -> tuple[int, list[Logged]]:
        ((now,),) = self._select("SELECT coalesce(max(version), 0) FROM realms WHERE id = ?", realm)
        rows = self._select(
            f"{_EVENTS} WHERE realm = ? AND version > ? AND version <= ? ORDER BY version, sequence",
            realm,
            version,
            now,
        )
        return now, [read_logged(row) for row in rows]

    def listen(self, ears: Ears) -> None:
        """Nobody else writes it."""

    def share(self, hosts: Sequence[str]) -> None:
        """Nobody else is there."""

    def told(self, wanted: Wanted) -> list[Logged]:
        if wanted.realms is None:
            rows = self._select(f"{_EVENTS} WHERE name <> '' ORDER BY sequence")
        else:
            rows = self._select(
                f"{_EVENTS} WHERE name <> '' AND realm IN (SELECT value FROM json_each(?))"  # noqa: S608
                " ORDER BY sequence",
                json.dumps(sorted(wanted.realms)),
            )
        return pick_told(rows, wanted)

    def document(self, realm: str, subject: str, name: str) -> bytes | None:
        rows = self._select(
            "SELECT body FROM documents WHERE realm = ? AND subject = ? AND name = ?", realm, subject, name
        )
        return rows[0][0] if rows else None

    def documents(self, realm: str, subject: str = "") -> dict[tuple[str, str], int]:
        rows = self._select(
            "SELECT subject, name, length(body) FROM documents WHERE realm = ?1 AND ?2 IN ('', subject)",
            realm,
            subject,
        )
        return {(of, name): size for of, name, size in rows}

    def note(self, name: str) -> str:
        rows = self._select("SELECT value FROM notes WHERE name = ?", name)
        return str(rows[0][0]) if rows else ""

    def write_note(self, name: str, value: str) -> None:
        with self._transaction() as db:
            if value:
                db.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (name, value))
            else:
                db.execute("DELETE FROM notes WHERE name = ?", (name,))

    def scrub(self) -> None:
        with self._writing, self._trouble():
            try:
                self._writer.execute("VACUUM")
            finally:  # After a failure, too: the journal may fill the disk.
                (is_busy, _, _) = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if is_busy:
            hint = _HINTS[sqlite3.SQLITE_BUSY]
            raise UnavailableError(f"{self._path}: another program reads the journal", hint=hint)

    def close(self) -> None:
        with self._writing, self._reading:
            self._reader.close()
            self._writer.close()
            self._last_commit.close()


def _create(path: Path) -> None:
    """A new file is for us alone from its first moment, and its name outlives a crash."""
    try:
        if not path.exists():
            path.touch(mode=0o600)
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    except OSError as error:
        raise cannot("create", path, error) from error


def _take_versions(db: sqlite3.Connection, batch: Batch) -> None:
    """Give the realms their new versions, if they have the ones that were decided upon."""
    for realm, version in batch.after.items():
        if batch.before[realm] == 0:
            done = db.execute("INSERT INTO realms VALUES (?, ?) ON CONFLICT DO NOTHING", (realm, version))
        else:
            done = db.execute(
                "UPDATE realms SET version = ? WHERE id = ? AND version = ?",
                (version, realm, batch.before[realm]),
            )
        if done.rowcount != 1:
            raise ConflictError(realm)
