# SPDX-License-Identifier: Apache-2.0
"""State from the log alone: as it was at a time, and whether the rows of a store say the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

from muster.frozen import dataclass
from muster.service.realm import Realm, fold
from muster.service.state import Kind, Subject, kind_of
from muster.service.store.port import Logged, Store, StoreError


@dataclass(frozen=True)
class Difference:
    """Something that the log and the rows do not agree about. Values are not shown: they may be secret."""

    realm: str
    kind: Kind
    id: str
    what: Literal["only in the log", "only in the rows", "different"]
    fields: tuple[str, ...] = ()


def replay(log: Iterable[Logged], until: datetime | None = None) -> dict[str, Realm]:
    """Realms as a log makes them, with all that was written up to a time.

    A clock may have been put back in between. So that a state is one that really was, each realm is taken up
    to its last event that is not later than the time, with all that stands before it.
    """
    realms: dict[str, Realm] = {}
    later: dict[str, list[Logged]] = {}
    for each in log:
        if until is not None and each.event.at > until:
            later.setdefault(each.realm, []).append(each)
            continue
        for one in (*later.pop(each.realm, ()), each):
            _fold(realms.setdefault(one.realm, Realm(one.realm)), one)
    return realms


def _fold(realm: Realm, each: Logged) -> None:
    event = each.event
    if event.values and not (event.born or event.gone) and realm.find(event.kind, event.id) is None:
        raise StoreError(
            f"the log changes {event.kind} {event.id} before it is there (at {each.sequence})",
            hint="it was not written by Muster alone; restore it from a copy",
        )
    try:
        fold(realm, event)
    except TypeError as error:  # A field is missing that every subject has.
        raise StoreError(
            f"the log cannot be read: {event.kind} {event.id} is not whole (at {each.sequence})",
            hint="restore the database from a copy",
        ) from error
    realm.version = each.version


def compare(replayed: Mapping[str, Realm], stored: Iterable[Realm]) -> list[Difference]:
    """Where the log and the rows differ; nothing: they say the same."""
    rows = {realm.id: realm for realm in stored}
    empty = Realm("")
    return [
        difference
        for id in sorted(replayed.keys() | rows.keys())
        for difference in _compare_realm(id, replayed.get(id, empty), rows.get(id, empty))
    ]


def _compare_realm(id: str, replayed: Realm, stored: Realm) -> Iterable[Difference]:
    ours, theirs = _subjects(replayed), _subjects(stored)
    for key in sorted(ours.keys() | theirs.keys()):
        one, other = ours.get(key), theirs.get(key)
        if one is None or other is None:
            yield Difference(id, *key, "only in the rows" if one is None else "only in the log")
        elif one != other:
            names = (each.name for each in msgspec.structs.fields(one))
            fields = tuple(name for name in names if getattr(one, name) != getattr(other, name))
            yield Difference(id, *key, "different", fields)


def _subjects(realm: Realm) -> dict[tuple[Kind, str], Subject]:
    return {(kind_of(subject), subject.id): subject for subject in realm.subjects()}


Watch: TypeAlias = Callable[[Iterable[Logged]], Iterable[Logged]]
"""Passes a log on, and takes note of how far it is."""


def check_store(store: Store, realm: str = "", watch: Watch = iter) -> list[Difference]:
    """Whether a store's log makes the state that its rows have, while others may write it."""
    stored = {each.id: each for each in store.load(realm or None)}
    known = (each for each in watch(store.log(realm)) if each.realm in stored)
    return compare(
        replay(each for each in known if each.version <= stored[each.realm].version), stored.values()
    )
