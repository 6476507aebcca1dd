# SPDX-License-Identifier: Apache-2.0
"""What comes out of a database, as realms and events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC
from typing import Any, Final

import msgspec

from muster.service.realm import Event, Realm, read_event
from muster.service.store.port import (
    Logged,
    StoreError,
    Wanted,
    decode_event,
    decode_subject,
    is_wanted,
)

PAGE: Final = 1000
"""How many events are read at once."""


def make_realms(rows: Iterable[tuple[Any, ...]]) -> Iterable[Realm]:
    """Realms from rows of realm, version, kind, id and body; the last three are none when it is empty."""
    found: dict[str, Realm] = {}
    for place, version, kind, id, body in rows:
        with _reading("a realm"):
            _check_types(place, version)
            realm = found.get(place) or found.setdefault(place, Realm(place, version))
        if kind is not None:
            with _reading(f"{kind} {id}"):
                _check_types(id, version)
                realm.put(kind, id, decode_subject(kind, body))
    return found.values()


def _check_types(id: Any, number: Any) -> None:
    """SQLite gives what is stored, whatever the type of its column."""
    if not isinstance(id, str) or not isinstance(number, int):
        raise TypeError("it is of another type than it should be")


def read_logged(row: tuple[Any, ...]) -> Logged:
    """An event from a row of sequence, realm, version and body."""
    sequence, realm, version, body = row
    with _reading(f"event {sequence}"):
        event = _decode(sequence, realm, version, body)
        return Logged(sequence, realm, version, read_event(event.kind, event))


def _decode(sequence: Any, realm: Any, version: Any, body: Any) -> Event:
    _check_types(realm, version)
    _check_types(realm, sequence)
    event = decode_event(body)
    if event.at.tzinfo is None:
        raise ValueError("its time has no zone")
    event.at.astimezone(UTC)  # It may be out of range.
    return event


def pick_told(rows: Iterable[tuple[Any, ...]], wanted: Wanted) -> list[Logged]:
    """Those that are wanted; nobody needs the types of what changed."""
    found: list[Logged] = []
    with _reading("an event"):
        for sequence, realm, version, body in rows:
            event = _decode(sequence, realm, version, body)
            if is_wanted(realm, event, wanted):
                found.append(Logged(sequence, realm, version, event))
    return found


@contextmanager
def _reading(what: str) -> Iterator[None]:
    try:
        yield
    except (msgspec.MsgspecError, LookupError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise StoreError(
            f"what is stored of {what} cannot be read: {error}", hint="restore the database from a copy"
        ) from error
