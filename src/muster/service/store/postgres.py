# SPDX-License-Identifier: Apache-2.0
"""The log and the state in PostgreSQL, for many clusters and several replicas without a leader.

Every commit is one statement, a function of the schema: it is sent as a whole, so that no replica that stands
still holds a lock, and costs one way there and back.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import Any, Final
from uuid import UUID, uuid4

import psycopg

from muster.errors import MusterError, UserError
from muster.service.realm import Realm
from muster.service.store.batch import Batch, gather
from muster.service.store.link import Address, Connection, Link, LostError, parse_address
from muster.service.store.listener import HOSTS, Listener
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

_BEGIN: Final = "BEGIN; SELECT pg_advisory_xact_lock(x'6d7573746572'::bigint)"
"""With the lock of whoever writes or changes the schema."""
_DOUBT_S: Final = 10.0
_SCRUB_S: Final = 240
"""Rewriting several GB takes minutes; Kubernetes ends a service that has not started after five."""
_EVENTS: Final = "SELECT sequence, realm, version, body FROM events"
_WRITE: Final = f"SELECT write_batch({', '.join(['%b'] * 17)})"
_CONFLICT: Final = "MU001"
_IN_ONE_NOTE: Final = 200
"""Ids of hosts: a note has less than 8,000 bytes."""


class PostgresStore:
    """One connection that writes, one that reads, and one that listens if that is asked for."""

    def __init__(self, url: str, *, steps: tuple[str, ...] = load_steps("postgresql")) -> None:
        self._address: Address = parse_address(url)
        self._writer, self._reader = Link(self._address), Link(self._address)
        self._listener: Listener | None = None
        self._id = uuid4()
        try:
            with self._writer.use() as connection:
                self._migrate(connection, steps)
        except MusterError:
            self.close()
            raise

    def _migrate(self, connection: Connection, steps: tuple[str, ...]) -> None:
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            raise UserError(
                f"{self._address} keeps text as {encoding}, not as UTF8",
                hint="create the database with ENCODING 'UTF8' TEMPLATE template0",
            )
        connection.execute(_BEGIN)  # Replicas that start at once do this one after the other.
        connection.execute("CREATE TABLE IF NOT EXISTS schema (version BIGINT NOT NULL)")
        row = connection.execute("SELECT max(version) FROM schema").fetchone()
        version = (row and row[0]) or 0
        for number, step in next_steps(steps, version, str(self._address)):
            connection.execute(step.encode())
            connection.execute("INSERT INTO schema VALUES (%s)", [number])
        connection.execute("COMMIT")

    def _select(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._reader.use() as connection:
            return connection.execute(query.encode(), values, binary=True).fetchall()

    @property
    def is_shared(self) -> bool:
        return True

    def versions(self) -> dict[str, int]:
        return dict(self._select("SELECT id, version FROM realms"))

    def load(self, realm: str | None = None) -> Iterable[Realm]:
        query = (
            "SELECT realms.id, version, kind, subjects.id, body FROM realms"
            " LEFT JOIN subjects ON realm = realms.id"
        )
        if realm is None:
            return make_realms(self._select(query))
        return make_realms(self._select(f"{query} WHERE realms.id = %s", realm))

    def commit(self, changes: Sequence[Change]) -> None:
        batch, ticket = gather(changes), uuid4()
        try:
            with self._writer.use() as connection:
                connection.execute(_WRITE, [*_versions(batch), ticket, str(self._id), *_columns(batch)])
        except LostError:
            if not self._was_written(batch, ticket):
                raise
        except StoreError as error:
            cause = error.__cause__
            if isinstance(cause, psycopg.Error) and cause.sqlstate == _CONFLICT:
                raise ConflictError(cause.diag.message_primary or "") from None
            raise

    def _was_written(self, batch: Batch, ticket: UUID) -> bool:
        """The connection was lost in a commit: whether it was done."""
        deadline = time.monotonic() + _DOUBT_S
        while True:
            try:
                with self._writer.use() as connection:
                    connection.execute(_BEGIN)  # The lost one has ended when we hold the lock.
                    found = connection.execute(
                        "SELECT id, version FROM realms WHERE id = ANY(%s) AND written = %s",
                        [list(batch.after), ticket],
                    ).fetchall()
                    return dict(found) == batch.after
            except UnavailableError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.1)

    def log(self, realm: str = "", after: int = 0) -> Iterable[Logged]:
        version, start = 0, after
        while rows := self._page(realm, version, start, after):
            yield from map(read_logged, rows)
            start, _, version, _ = rows[-1]

    def _page(self, realm: str, version: int, start: int, after: int) -> list[Any]:
        if not realm:
            query = f"{_EVENTS} WHERE sequence > %s ORDER BY sequence LIMIT %s"
            return self._select(query, start, PAGE)
        # By the index of the realm, whatever else is in the log.
        query = f"{_EVENTS} WHERE realm = %s AND (version, sequence) > (%s, %s) AND sequence > %s"
        return self._select(
            f"{query} ORDER BY version, sequence LIMIT %s", realm, version, start, after, PAGE
        )

    def news(self, realm: str, version: int) -> tuple[int, list[Logged]]:
        ((now,),) = self._select("SELECT coalesce(max(version), 0) FROM realms WHERE id = %s", realm)
        rows = self._select(
            f"{_EVENTS} WHERE realm = %s AND version > %s AND version <= %s ORDER BY version, sequence",
            realm,
            version,
            now,
        )
        return now, [read_logged(row) for row in rows]

    def listen(self, ears: Ears) -> None:
        self._listener = Listener(self._address, str(self._id), ears)

    def share(self, hosts: Sequence[str]) -> None:
        told = [f"{self._id} {' '.join(part)}" for part in _split(hosts, _IN_ONE_NOTE)]
        self._select("SELECT pg_notify(%s, told) FROM unnest(%s::text[]) AS told", HOSTS, told)

    def told(self, wanted: Wanted) -> list[Logged]:
        if wanted.realms is None:
            rows = self._select(f"{_EVENTS} WHERE name <> '' ORDER BY sequence")
        else:
            rows = self._select(
                f"{_EVENTS} WHERE name <> '' AND realm = ANY(%s) ORDER BY sequence",
                sorted(wanted.realms),
            )
        return pick_told(rows, wanted)

    def document(self, realm: str, subject: str, name: str) -> bytes | None:
        rows = self._select(
            "SELECT body FROM documents WHERE realm = %s AND subject = %s AND name = %s", realm, subject, name
        )
        return rows[0][0] if rows else None

    def documents(self, realm: str, subject: str = "") -> dict[tuple[str, str], int]:
        rows = self._select(
            "SELECT subject, name, length(body) FROM documents WHERE realm = %s AND %s IN ('', subject)",
            realm,
            subject,
        )
        return {(of, name): size for of, name, size in rows}

    @property
    def lost(self) -> str:
        """The server checks its own log."""
        return ""

    def note(self, name: str) -> str:
        rows = self._select("SELECT value FROM notes WHERE name = %s", name)
        return str(rows[0][0]) if rows else ""

    def write_note(self, name: str, value: str) -> None:
        with self._writer.use() as connection:
            if value:
                connection.execute(
                    "INSERT INTO notes VALUES (%s, %s)"
                    " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                    [name, value],
                )
            else:
                connection.execute("DELETE FROM notes WHERE name = %s", [name])

    def scrub(self) -> None:
        # On a connection of its own, because only this statement may take so long.
        with closing(Link(self._address)) as link, link.use() as connection:
            connection.execute(f"SET statement_timeout = '{_SCRUB_S}s'".encode())
            connection.execute("VACUUM FULL documents")

    def close(self) -> None:
        if self._listener is not None:
            self._listener.close()
        self._writer.close()
        self._reader.close()


def _split(words: Sequence[str], most: int) -> Iterable[Sequence[str]]:
    return (words[start : start + most] for start in range(0, len(words), most))


def _versions(batch: Batch) -> list[list[Any]]:
    realms = list(batch.after)
    return [realms, [batch.before[realm] for realm in realms], [batch.after[realm] for realm in realms]]


def _columns(batch: Batch) -> list[list[Any] | None]:
    """The events, rows and documents of a batch, column by column."""
    events = [(realm, version, event.name, encode(event)) for realm, version, event in batch.events]
    rows = [(*key, None if body is None else encode(body)) for key, body in batch.rows.items()]
    documents = [(*key, body) for key, body in batch.documents.items()]
    tables: list[Sequence[tuple[Any, ...]]] = [events, rows, documents]
    return [
        None if column is None else list(column)
        for table in tables
        for column in (zip(*table, strict=True) if table else [None] * 4)
    ]
