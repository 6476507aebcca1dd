# SPDX-License-Identifier: Apache-2.0
"""Stores that are only looked at: nothing is created, migrated or locked; a service may write meanwhile."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from muster.errors import MusterError, UserError, cannot
from muster.redact import redact_url
from muster.service.store.last_commit import read_head
from muster.service.store.open import FILE, FORMS, find_sqlite_path, import_postgres, is_shared
from muster.service.store.port import Change, Store, StoreError
from muster.service.store.schema import load_steps, next_steps
from muster.service.store.sqlite import SqliteStore


class Look(Store, Protocol):
    """A store that is only read."""

    def last(self) -> int:
        """The place of the last event in the log."""


def look_at(where: str | Path) -> Look:
    """The store in a directory, or at a URL, as `open_store` takes it; it has to be there."""
    if isinstance(where, Path) or "://" not in where:
        return SqliteLook(Path(where) / FILE)
    if where.partition("://")[0].lower() == "sqlite":
        return SqliteLook(find_sqlite_path(where))
    if is_shared(where):
        import_postgres()
        from muster.service.store.looking_postgres import PostgresLook

        return PostgresLook(where)
    raise UserError(f"{redact_url(where)} is no database that Muster can use", hint=FORMS)


def check_version(version: int, known: int, place: str) -> None:
    """Refuse what this version of Muster cannot read as it is."""
    if version == 0:
        raise no_log(place)
    if next_steps(("",) * known, version, place):
        raise UserError(
            f"{place} was written by an older Muster (schema {version}; this one knows {known})",
            hint="start the service once with this Muster: it brings the database up to date",
        )


def not_writing(place: str) -> StoreError:
    """Nothing is written where we only look."""
    return StoreError(f"{place} is only looked at", hint="open it to write")


def no_log(place: str) -> UserError:
    """Something is there, but nothing of ours."""
    return UserError(
        f"{place} has no log of Muster in it",
        hint="name the --data or --database that `muster serve` was started with",
    )


class SqliteLook(SqliteStore):
    """One connection that cannot write."""

    def __init__(self, path: Path) -> None:
        self._path, self._patience_s = path, 10.0
        self._reading = threading.Lock()
        _check(path)
        self._reader = self._open("ro")
        try:
            ((version,),) = self._select("PRAGMA user_version")
            check_version(version, len(load_steps("sqlite")), str(path))
            noted = read_head(path)  # Before the database is read: a service may write meanwhile.
            self._lost = self._compare(noted, self._find_head())
        except MusterError:
            self.close()
            raise

    def _open(self, mode: str) -> sqlite3.Connection:
        with self._trouble():
            found = self._connect_to(f"mode={mode}")
            try:
                found.execute("SELECT * FROM sqlite_schema").fetchone()
            except sqlite3.OperationalError:
                found.close()
                # In a directory that cannot be written, and nobody has it open: nothing changes it, either.
                if Path(f"{self._path}-wal").exists():
                    raise
                found = self._connect_to("immutable=1")
            return found

    def _connect_to(self, how: str) -> sqlite3.Connection:
        return sqlite3.connect(
            f"{self._path.resolve().as_uri()}?{how}",
            uri=True,
            check_same_thread=False,
            isolation_level=None,
            timeout=self._patience_s,
        )

    def last(self) -> int:
        ((place,),) = self._select("SELECT coalesce(max(sequence), 0) FROM events")
        return int(place)

    def commit(self, changes: Sequence[Change]) -> None:  # noqa: ARG002 - the names are the store's
        raise not_writing(str(self._path))

    def write_note(self, name: str, value: str) -> None:  # noqa: ARG002 - the names are the store's
        raise not_writing(str(self._path))

    def scrub(self) -> None:
        raise not_writing(str(self._path))

    def close(self) -> None:
        with self._reading:
            self._reader.close()


def _check(path: Path) -> None:
    try:
        with path.open("rb"):
            pass
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UserError(
            f"there is no database at {path}",
            hint="name the --data or --database that `muster serve` was started with",
        ) from error
    except OSError as error:
        raise cannot("read", path, error) from error
