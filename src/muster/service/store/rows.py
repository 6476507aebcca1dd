# SPDX-License-Identifier: Apache-2.0
"""What comes out of a database, as realms and events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from muster.service.realm import Realm, read_event
from muster.service.store.port import Logged, Wanted, decode_event, decode_subject, is_wanted

PAGE: Final = 1000
"""How many events are read at once."""


def make_realms(rows: Iterable[tuple[Any, ...]]) -> Iterable[Realm]:
    """Realms from rows of realm, version, kind, id and body; the last three are none when it is empty."""
    found: dict[str, Realm] = {}
    for place, version, kind, id, body in rows:
        realm = found.get(place) or found.setdefault(place, Realm(place, version))
        if kind is not None:
            realm.put(kind, id, decode_subject(kind, body))
    return found.values()


def read_logged(row: tuple[Any, ...]) -> Logged:
    """An event from a row of sequence, realm, version and body."""
    sequence, realm, version, body = row
    event = decode_event(body)
    return Logged(sequence, realm, version, read_event(event.kind, event))


def pick_told(rows: Iterable[tuple[Any, ...]], wanted: Wanted) -> list[Logged]:
    """Those that are wanted; nobody needs the types of what changed."""
    found = (Logged(sequence, realm, version, decode_event(body)) for sequence, realm, version, body in rows)
    return [each for each in found if is_wanted(each.realm, each.event, wanted)]
