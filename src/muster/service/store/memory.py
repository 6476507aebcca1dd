# SPDX-License-Identifier: Apache-2.0
"""A store that forgets everything at the end: for simulations."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

from muster.service.realm import Realm, fold
from muster.service.store.batch import gather
from muster.service.store.port import Change, ConflictError, Ears, Logged, Wanted, is_wanted


class MemoryStore:
    """All in lists and dicts. It keeps the log, and makes realms from it when asked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._log: list[Logged] = []
        self._versions: dict[str, int] = {}
        self._documents: dict[tuple[str, str, str], bytes] = {}
        self._notes: dict[str, str] = {}

    @property
    def is_shared(self) -> bool:
        return False

    def versions(self) -> dict[str, int]:
        with self._lock:
            return dict(self._versions)

    def load(self, realm: str | None = None) -> Iterable[Realm]:
        with self._lock:
            realms = {id: Realm(id, version) for id, version in self._versions.items() if realm in (None, id)}
            for each in self._log:
                if each.realm in realms:
                    fold(realms[each.realm], each.event)
        return realms.values()

    def commit(self, changes: Sequence[Change]) -> None:
        batch = gather(changes)
        with self._lock:
            for realm, version in batch.before.items():
                if self._versions.get(realm, 0) != version:
                    raise ConflictError(realm)
            self._versions.update(batch.after)
            for sequence, (realm, version, event) in enumerate(batch.events, len(self._log) + 1):
                self._log.append(Logged(sequence, realm, version, event))
            for key, body in batch.documents.items():
                if body is None:
                    self._documents.pop(key, None)
                else:
                    self._documents[key] = body

    def log(self, realm: str = "", after: int = 0) -> Iterable[Logged]:
        with self._lock:
            return [each for each in self._log[after:] if realm in ("", each.realm)]

    def news(self, realm: str, version: int) -> tuple[int, list[Logged]]:
        with self._lock:
            found = [each for each in self._log if each.realm == realm and each.version > version]
            return self._versions.get(realm, 0), found

    def listen(self, ears: Ears) -> None:
        """Nobody else writes it."""

    def share(self, hosts: Sequence[str]) -> None:
        """Nobody else is there."""

    def told(self, wanted: Wanted) -> list[Logged]:
        with self._lock:
            return [each for each in self._log if is_wanted(each.realm, each.event, wanted)]

    def document(self, realm: str, subject: str, name: str) -> bytes | None:
        with self._lock:
            return self._documents.get((realm, subject, name))

    def documents(self, realm: str, subject: str = "") -> dict[tuple[str, str], int]:
        with self._lock:
            return {
                (of, name): len(body)
                for (place, of, name), body in self._documents.items()
                if place == realm and subject in ("", of)
            }

    @property
    def lost(self) -> str:
        return ""

    def note(self, name: str) -> str:
        return self._notes.get(name, "")

    def write_note(self, name: str, value: str) -> None:
        self._notes[name] = value

    def scrub(self) -> None:
        """What was replaced is gone already."""

    def close(self) -> None:
        """It stays as it is, so that a simulated service can begin again with it."""
