# SPDX-License-Identifier: Apache-2.0
"""What comes out of a database, as realms and events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import msgspec

from muster.service.realm import Realm, read_event
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
        realm = found.get(place) or found.setdefault(place, Realm(place, version))
        if kind is not None:
            with _reading(f"{kind} {id}"):
                realm.put(kind, id, decode_subject(kind, body))
    return found.values()


def read_logged(row: tuple[Any, ...]) -> Logged:
    """An event from a row of sequence, realm, version and body."""
    sequence, realm, version, body = row
    with _reading(f"event {sequence}"):
        event = decode_event(body)
        return Logged(sequence, realm, version, read_event(event.kind, event))


def pick_told(rows: Iterable[tuple[Any, ...]], wanted: Wanted) -> list[Logged]:
    """Those that are wanted; nobody needs the types of what changed."""
    found: list[Logged] = []
    with _reading("an event"):
        for sequence, realm, version, body in rows:
            event = decode_event(body)
            if is_wanted(realm, event, wanted):
                found.append(Logged(sequence, realm, version, event))
    return found


@contextmanager
def _reading(what: str) -> Iterator[None]:
    try:
        yield
    except (msgspec.MsgspecError, KeyError) as error:
        raise StoreError(
            f"what is stored of {what} cannot be read: {error}", hint="restore the database from a copy"
        ) from error
