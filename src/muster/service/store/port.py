# SPDX-License-Identifier: Apache-2.0
"""What the service asks of a store, whichever it is.

A change is one decision about one realm: its events, the rows that they changed and the files that came with
it. Changes are committed together or not at all, and a realm's version tells whether somebody was quicker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

import msgspec

from muster.errors import ExternalError
from muster.frozen import dataclass
from muster.service.realm import Event, Key, Realm
from muster.service.state import TYPES, Kind, Subject


class StoreError(ExternalError):
    """The store could not be read, or not written: nothing of what was to be committed is."""


class UnavailableError(StoreError):
    """The store is not there now, or somebody else holds it: the next one would fail as well.

    When it went away while it committed, only a look at it tells whether that was done.
    """


class ConflictError(StoreError):
    """Somebody else changed the realm first: look at it again, and decide again."""

    def __init__(self, realm: str) -> None:
        super().__init__(f"realm {realm} was changed by somebody else", hint="ask again")
        self.realm = realm


class Change(msgspec.Struct, frozen=True):
    """One decision about one realm, ready to be written."""

    realm: str
    version: int
    """The version that it makes; the one before is what it was decided upon."""
    events: Sequence[Event]
    rows: dict[Key, Subject | None]
    documents: dict[tuple[str, str], bytes | None]
    """Files by subject and name; none: it is gone."""


@dataclass(frozen=True)
class Wanted:
    """Which events are asked for."""

    realms: frozenset[str] | None = None
    """None: of all."""
    host_ids: frozenset[str] = frozenset()
    cluster_level: bool = True
    """Whether events of no host are among them, when hosts are named."""
    severities: frozenset[str] = frozenset()
    categories: frozenset[str] = frozenset({"user"})
    message: str = ""


class Logged(msgspec.Struct, frozen=True):
    """An event with its place in the log."""

    sequence: int
    realm: str
    version: int
    """The version of the realm that came with it."""
    event: Event


@dataclass(frozen=True)
class Ears:
    """Who wants to hear what others do."""

    realms: Callable[[Mapping[str, int]], None]
    """Which realms they changed, and the versions of those."""
    hosts: Callable[[Sequence[str] | None], None] = lambda _: None
    """Which hosts they have heard; none: nobody knows, for some of it was missed."""


class Store(Protocol):
    """What keeps the log and the state. Any thread may call it; a commit does not hold up who reads."""

    @property
    def is_shared(self) -> bool:
        """Whether other services may write it, too."""

    def versions(self) -> dict[str, int]:
        """The versions of all realms."""

    def load(self, realm: str | None = None) -> Iterable[Realm]:
        """All realms, or one, as they were committed last."""

    def commit(self, changes: Sequence[Change]) -> None:
        """Write all of them durably, or none: ConflictError, UnavailableError, StoreError."""

    def log(self, realm: str = "", after: int = 0) -> Iterable[Logged]:
        """The log after a place in it, in order, of one realm or of all."""

    def news(self, realm: str, version: int) -> tuple[int, list[Logged]]:
        """The version of a realm (0: it is not there), and what happened since another one of it."""

    def listen(self, ears: Ears) -> None:
        """From now on tell what others do, from a thread of the store.

        After the connection was lost all realms are told of, because nobody knows what was missed. A store
        that nobody else writes never tells anything.
        """

    def share(self, hosts: Sequence[str]) -> None:
        """Tell the others which hosts are there. Nothing of it is kept."""

    def told(self, wanted: Wanted) -> list[Logged]:
        """The events that people are told, of those wanted, in order."""

    def document(self, realm: str, subject: str, name: str) -> bytes | None:
        """A file of a realm."""

    def documents(self, realm: str, subject: str = "") -> dict[tuple[str, str], int]:
        """The files of a realm, by subject and name, and how large each is."""

    @property
    def lost(self) -> str:
        """Which acknowledged commits are missing since the store was used last; empty: none that is known."""

    def note(self, name: str) -> str:
        """What the service noted about itself under a name; empty when it noted nothing."""

    def write_note(self, name: str, value: str) -> None:
        """Note something durably; an empty text removes the note."""

    def scrub(self) -> None:
        """Rewrite the files of the store, so that nothing that was replaced or removed is left in them."""

    def close(self) -> None:
        """Let go of everything."""


_encoder = msgspec.json.Encoder()
_decoders = {kind: msgspec.json.Decoder(of) for kind, of in TYPES.items()}
_events = msgspec.json.Decoder(Event)


def encode(body: Subject | Event) -> bytes:
    """A subject or an event as it is stored."""
    return _encoder.encode(body)


def decode_subject(kind: Kind, body: bytes) -> Subject:
    """A subject as it was stored."""
    return _decoders[kind].decode(body)


def decode_event(body: bytes) -> Event:
    """An event as it was stored, with its values as plain data."""
    return _events.decode(body)


def is_wanted(realm: str, event: Event, wanted: Wanted) -> bool:
    """Whether people asked for this event."""
    if not event.name or event.category not in wanted.categories:
        return False
    if wanted.realms is not None and realm not in wanted.realms:
        return False
    if wanted.severities and event.severity not in wanted.severities:
        return False
    if wanted.message and wanted.message.lower() not in event.message.lower():
        return False
    if wanted.host_ids:
        return event.id in wanted.host_ids if event.kind == "host" else wanted.cluster_level
    return event.kind != "host" or wanted.cluster_level
