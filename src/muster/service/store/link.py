# SPDX-License-Identifier: Apache-2.0
"""A connection to PostgreSQL that comes back after it was lost, and says in our words what is wrong."""

from __future__ import annotations

import contextlib
import re
import select
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Final, TypeAlias

import psycopg
from psycopg.conninfo import conninfo_to_dict

from muster.errors import UserError
from muster.frozen import dataclass
from muster.redact import MASK
from muster.service.store.port import StoreError, UnavailableError

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]

_SHORTEST_S: Final = 0.1
_LONGEST_S: Final = 5.0
_DEFAULTS: Final[Mapping[str, Any]] = {
    "application_name": "muster",
    "connect_timeout": 5,
    # A server that vanished is noticed within seconds, not within hours.
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
    "target_session_attrs": "read-write",
}
_SETTINGS: Final = """
    SET lock_timeout = '10s';
    SET statement_timeout = '60s';
    SET idle_in_transaction_session_timeout = '10s';
    SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';
"""
"""A replica that stands still holds up no other for long; and what is committed is on the disk."""
_HINTS: Final[tuple[tuple[type[psycopg.Error], str], ...]] = (
    (psycopg.errors.DiskFull, "free some space on the disk of PostgreSQL"),
    (
        psycopg.errors.InsufficientPrivilege,
        "let the user of the URL create and write tables in that database",
    ),
    (psycopg.errors.LockNotAvailable, "see which other session holds it in pg_stat_activity"),
    (psycopg.errors.QueryCanceled, "see what PostgreSQL is busy with in pg_stat_activity"),
    (psycopg.OperationalError, "see that PostgreSQL runs and can be reached, and who may log in"),
)
_UNAVAILABLE: Final = (
    psycopg.errors.LockNotAvailable,
    psycopg.errors.QueryCanceled,
    psycopg.errors.ReadOnlySqlTransaction,
)


class LostError(UnavailableError):
    """The connection was lost while it was used: nobody knows what the server did last."""


@dataclass(frozen=True)
class Address:
    """Which database, and how to log in."""

    parameters: Mapping[str, Any]

    def __str__(self) -> str:
        given = self.parameters
        host = given.get("host") or given.get("hostaddr") or "localhost"
        port = f":{given['port']}" if given.get("port") and not host.startswith("/") else ""
        return f"PostgreSQL {given.get('dbname', '')} at {host}{port}".replace("  ", " ")

    def explain(self, error: psycopg.Error) -> str:
        """The first line of what PostgreSQL says, without the password."""
        text = str(error).strip().split("\n", 1)[0] or type(error).__name__
        password = str(self.parameters.get("password", ""))
        return text.replace(password, MASK) if len(password) > 3 else text


def parse_address(url: str) -> Address:
    """A database from its URL."""
    unreadable = UserError(  # Nothing of it is shown: any part may be one of the password.
        "the URL of the database cannot be read",
        hint="write postgresql://USER:PASSWORD@HOST:PORT/DATABASE; "
        "characters with a meaning in URLs as %XX (@ is %40, : is %3A, / is %2F)",
    )
    try:
        given = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise unreadable from None
    if "@" in str(given.get("host")) or not re.fullmatch("[0-9,]*", str(given.get("port", ""))):
        raise unreadable
    return Address({**_DEFAULTS, **given})


class Link:
    """One connection, for one user at a time; made when it is needed, and again when it was lost."""

    def __init__(self, address: Address, clock: Callable[[], float] = time.monotonic) -> None:
        self._address, self._clock = address, clock
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._pause_s = 0.0
        self._not_before = 0.0
        self._why = ""

    @contextmanager
    def use(self) -> Iterator[Connection]:
        """The connection; errors of PostgreSQL in it come out as ours."""
        with self._lock:
            connection = self._ready()
            try:
                yield connection
            except psycopg.Error as error:
                raise self._trouble(error) from error
            finally:
                self._tidy(connection)

    def _ready(self) -> Connection:
        if self._connection is not None and _has_ended(self._connection):
            self._drop()
        if self._connection is None:
            if self._clock() < self._not_before:
                raise UnavailableError(self._why, hint="it is tried again in a moment")
            try:
                self._connection = connect(self._address)
            except UnavailableError as error:
                self._pause_s = min(max(_SHORTEST_S, self._pause_s * 2), _LONGEST_S)
                self._not_before, self._why = self._clock() + self._pause_s, error.message
                raise
            self._pause_s = 0.0
        return self._connection

    def _trouble(self, error: psycopg.Error) -> StoreError:
        if isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
            self._drop()  # What was the primary is a standby now.
        if self._connection is None or self._connection.closed:
            return explain(self._address, error, LostError)
        return explain(self._address, error)

    def _tidy(self, connection: Connection) -> None:
        """Nobody finds a transaction that another one left open, nor a question without its answer."""
        if not _is_idle(connection):
            with contextlib.suppress(psycopg.Error):
                connection.rollback()
        if not _is_idle(connection):
            self._drop()

    def _drop(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(psycopg.Error):
                self._connection.close()
        self._connection = None

    def close(self) -> None:
        """Let go of it."""
        with self._lock:
            self._drop()


def connect(address: Address) -> Connection:
    """A new connection that commits each statement of its own."""
    try:
        with ExitStack() as unless_it_is_set:
            connection = psycopg.connect(**address.parameters, autocommit=True)
            unless_it_is_set.callback(connection.close)
            connection.execute(_SETTINGS)
            unless_it_is_set.pop_all()
    except psycopg.Error as error:
        raise explain(address, error, UnavailableError) from error
    return connection


def explain(address: Address, error: psycopg.Error, kind: type[StoreError] = StoreError) -> StoreError:
    """What is wrong, and what to do about it."""
    if kind is StoreError and isinstance(error, _UNAVAILABLE):
        kind = UnavailableError
    hint = next((hint for of, hint in _HINTS if isinstance(error, of)), "look into the log of PostgreSQL")
    return kind(f"{address}: {address.explain(error)}", hint=hint)


def _is_idle(connection: Connection) -> bool:
    return connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


def _has_ended(connection: Connection) -> bool:
    """Whether the server has something to say though nobody asked: mostly that it goes away."""
    if connection.closed:
        return True
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))
