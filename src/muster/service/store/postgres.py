# SPDX-License-Identifier: Apache-2.0
"""The log and the state in PostgreSQL, for many clusters and several replicas without a leader.

Every commit holds one lock from its first statement to its end. PostgreSQL lets only one transaction with a
notification commit at a time anyway; holding the lock from the start makes the order of the log the order of
commits for all who read it, and two replicas that change the same realms never wait in a circle.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID, uuid4

from muster.errors import MusterError, UserError
from muster.service.realm import Realm
from muster.service.store.batch import Batch, gather
from muster.service.store.link import Address, Connection, Link, parse_address
from muster.service.store.listener import CHANNEL, Listener
from muster.service.store.port import Change, ConflictError, Logged, UnavailableError, Wanted, encode
from muster.service.store.rows import PAGE, make_realms, pick_told, read_logged
from muster.service.store.schema import load_steps, next_steps

_LOCK: Final = 0x6D75_7374_6572  # "muster"; for writing, and for changes of the schema
_BEGIN: Final = f"BEGIN; SELECT pg_advisory_xact_lock({_LOCK})"
_DOUBT_S: Final = 10.0
_EVENTS: Final = "SELECT sequence, realm, version, body FROM events"
_TAKE_VERSIONS: Final = """
    WITH wanted AS (
        SELECT * FROM unnest(%s::text[], %s::bigint[], %s::bigint[]) AS w (realm, before, after)
    ), made AS (
        INSERT INTO realms SELECT realm, after, %s::uuid FROM wanted WHERE before = 0
        ON CONFLICT DO NOTHING RETURNING id
    ), changed AS (
        UPDATE realms SET version = after, written = %s::uuid FROM wanted
        WHERE id = realm AND version = before AND before > 0 RETURNING id
    )
    SELECT id FROM made UNION ALL SELECT id FROM changed
"""


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

    def load(self, realm: str | None = None) -> Iterable[Realm]:
        query = (
            "SELECT realms.id, version, kind, subjects.id, body FROM realms"
            " LEFT JOIN subjects ON realm = realms.id"
        )
        if realm is None:
            return make_realms(self._select(query))
        return make_realms(self._select(f"{query} WHERE realms.id = %s", realm))

    def commit(self, changes: Sequence[Change]) -> None:
        batch, written = gather(changes), uuid4()
        ending = False
        try:
            with self._writer.use() as connection:
                connection.execute(_BEGIN)
                _take_versions(connection, batch, written)
                with connection.pipeline():
                    _write(connection, batch)
                    self._notify(connection, batch)
                    ending = True
                    connection.execute("COMMIT")
        except UnavailableError:
            if not (ending and self._was_written(batch, written)):
                raise

    def _notify(self, connection: Connection, batch: Batch) -> None:
        news = [f"{self._id} {realm} {version}" for realm, version in batch.after.items()]
        connection.execute("SELECT pg_notify(%s, news) FROM unnest(%s::text[]) AS news", [CHANNEL, news])

    def _was_written(self, batch: Batch, written: UUID) -> bool:
        """The connection was lost while a transaction ended: whether it ended well."""
        deadline = time.monotonic() + _DOUBT_S
        while True:
            try:
                with self._writer.use() as connection:
                    connection.execute(_BEGIN)  # The lost one has ended when we hold the lock.
                    found = connection.execute(
                        "SELECT id, version FROM realms WHERE id = ANY(%s) AND written = %s",
                        [list(batch.after), written],
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

    def listen(self, heard: Callable[[Mapping[str, int]], None]) -> None:
        self._listener = Listener(self._address, str(self._id), heard)

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

    def close(self) -> None:
        if self._listener is not None:
            self._listener.close()
        self._writer.close()
        self._reader.close()


def _take_versions(connection: Connection, batch: Batch, written: UUID) -> None:
    """Give the realms their new versions, if they have the ones that were decided upon."""
    realms = list(batch.after)
    before, after = [batch.before[realm] for realm in realms], [batch.after[realm] for realm in realms]
    done = connection.execute(_TAKE_VERSIONS, [realms, before, after, written, written]).fetchall()
    for realm in realms:
        if (realm,) not in done:
            raise ConflictError(realm)


def _write(connection: Connection, batch: Batch) -> None:
    """The events, rows and documents of a batch, one statement for each kind of work that there is."""
    _unnest(
        connection,
        "INSERT INTO events (realm, version, name, body)"
        " SELECT * FROM unnest(%s::text[], %s::bigint[], %s::text[], %s::bytea[])",
        [(realm, version, event.name, encode(event)) for realm, version, event in batch.events],
    )
    _unnest(
        connection,
        "INSERT INTO subjects SELECT * FROM unnest(%s::text[], %s::text[], %s::text[], %s::bytea[])"
        " ON CONFLICT (realm, kind, id) DO UPDATE SET body = excluded.body",
        [(*key, encode(body)) for key, body in batch.rows.items() if body is not None],
    )
    _unnest(
        connection,
        "DELETE FROM subjects WHERE (realm, kind, id) IN"
        " (SELECT * FROM unnest(%s::text[], %s::text[], %s::text[]))",
        [key for key, body in batch.rows.items() if body is None],
    )
    _unnest(
        connection,
        "INSERT INTO documents SELECT * FROM unnest(%s::text[], %s::text[], %s::text[], %s::bytea[])"
        " ON CONFLICT (realm, subject, name) DO UPDATE SET body = excluded.body",
        [(*key, body) for key, body in batch.documents.items() if body is not None],
    )
    _unnest(
        connection,
        "DELETE FROM documents WHERE (realm, subject, name) IN"
        " (SELECT * FROM unnest(%s::text[], %s::text[], %s::text[]))",
        [key for key, body in batch.documents.items() if body is None],
    )


def _unnest(connection: Connection, query: str, rows: Sequence[tuple[Any, ...]]) -> None:
    if rows:
        connection.execute(query.encode(), [list(column) for column in zip(*rows, strict=True)])
