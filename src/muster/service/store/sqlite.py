# SPDX-License-Identifier: Apache-2.0
"""The log and the state in one SQLite file, on the disk before a commit returns."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Final

from muster.errors import UserError
from muster.service.realm import Realm, read_event
from muster.service.store.port import (
    Change,
    ConflictError,
    Logged,
    StoreError,
    Wanted,
    decode_event,
    decode_subject,
    encode,
    is_wanted,
)

_MARK: Final = "-- version "


class SqliteStore:
    """One file, one writer: WAL, and every commit is synced."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._trouble():
            self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=10)
            path.chmod(0o600)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            self._db.execute("PRAGMA foreign_keys=ON")
            self._migrate()

    def _migrate(self) -> None:
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        steps = _schema()
        if version > len(steps):
            raise UserError(
                f"{self._path} was written by a newer Muster (schema {version}; this one knows {len(steps)})",
                hint="start it with the newer Muster, or from a copy of before",
            )
        for number, step in enumerate(steps[version:], version + 1):
            self._db.executescript(f"BEGIN IMMEDIATE;\n{step}\nPRAGMA user_version={number};\nCOMMIT;")

    @contextmanager
    def _trouble(self) -> Iterator[None]:
        """Whatever SQLite has to say, in our words."""
        try:
            yield
        except sqlite3.Error as error:
            hint = {
                "SQLITE_FULL": "free some space on its disk",
                "SQLITE_BUSY": "end the other program that has it open",
                "SQLITE_NOTADB": "name another directory, or restore it from a copy",
                "SQLITE_CORRUPT": "restore it from a copy",
            }.get(getattr(error, "sqlite_errorname", ""), "see that its disk is there and can be written")
            raise StoreError(f"{self._path}: {error}", hint=hint) from error

    def load(self, realm: str | None = None) -> Iterable[Realm]:
        with self._trouble():
            rows = self._db.execute("SELECT id, version FROM realms WHERE ?1 IS NULL OR id=?1", (realm,))
            found = {id: Realm(id, version) for id, version in rows}
            rows = self._db.execute(
                "SELECT realm, kind, id, body FROM subjects WHERE ?1 IS NULL OR realm=?1", (realm,)
            )
            for place, kind, id, body in rows:
                found[place].put(kind, id, decode_subject(kind, body))
        return found.values()

    def commit(self, changes: Sequence[Change]) -> None:
        with self._trouble():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                for change in changes:
                    self._write(change)
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def _write(self, change: Change) -> None:
        do = self._db.execute
        if change.version == 1:
            done = do("INSERT OR IGNORE INTO realms VALUES (?, 1)", (change.realm,))
        else:
            done = do(
                "UPDATE realms SET version=? WHERE id=? AND version=?",
                (change.version, change.realm, change.version - 1),
            )
        if done.rowcount != 1:
            raise ConflictError(change.realm)
        self._db.executemany(
            "INSERT INTO events (realm, name, body) VALUES (?, ?, ?)",
            [(change.realm, event.name, encode(event)) for event in change.events],
        )
        for (kind, id), body in change.rows.items():
            if body is None:
                do("DELETE FROM subjects WHERE realm=? AND kind=? AND id=?", (change.realm, kind, id))
            else:
                do(
                    "INSERT OR REPLACE INTO subjects (kind, id, realm, body) VALUES (?, ?, ?, ?)",
                    (kind, id, change.realm, encode(body)),
                )
        for (subject, name), content in change.documents.items():
            if content is None:
                do(
                    "DELETE FROM documents WHERE realm=? AND subject=? AND name=?",
                    (change.realm, subject, name),
                )
            else:
                do(
                    "INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?)",
                    (change.realm, subject, name, content),
                )

    def log(self, realm: str = "", after: int = 0) -> Iterable[Logged]:
        with self._trouble():
            rows = self._db.execute(
                "SELECT sequence, realm, body FROM events WHERE sequence>? AND ? IN ('', realm)"
                " ORDER BY sequence",
                (after, realm),
            )
            for sequence, place, body in rows:
                event = decode_event(body)
                yield Logged(sequence, place, read_event(event.kind, event))

    def told(self, wanted: Wanted) -> list[Logged]:
        realms = None if wanted.realms is None else json.dumps(sorted(wanted.realms))
        with self._trouble():
            rows = self._db.execute(
                "SELECT sequence, realm, body FROM events WHERE name <> ''"
                " AND (?1 IS NULL OR realm IN (SELECT value FROM json_each(?1))) ORDER BY sequence",
                (realms,),
            )
            found = (Logged(sequence, place, decode_event(body)) for sequence, place, body in rows)
            return [each for each in found if is_wanted(each.realm, each.event, wanted)]

    def document(self, realm: str, subject: str, name: str) -> bytes | None:
        with self._trouble():
            row = self._db.execute(
                "SELECT body FROM documents WHERE realm=? AND subject=? AND name=?", (realm, subject, name)
            ).fetchone()
        return None if row is None else row[0]

    def documents(self, realm: str, subject: str = "") -> dict[tuple[str, str], int]:
        with self._trouble():
            rows = self._db.execute(
                "SELECT subject, name, length(body) FROM documents WHERE realm=? AND ? IN ('', subject)",
                (realm, subject),
            )
            return {(of, name): size for of, name, size in rows}

    def close(self) -> None:
        self._db.close()


def _schema() -> list[str]:
    """The steps from one version of the schema to the next."""
    text = resources.files("muster.service.store").joinpath("schema.sql").read_text("utf-8")
    return [part.split("\n", 1)[1] for part in text.split(_MARK)[1:]]
