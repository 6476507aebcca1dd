# SPDX-License-Identifier: Apache-2.0
"""A store that forgets everything at the end: for simulations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from muster.service.realm import Realm, fold
from muster.service.store.port import Change, ConflictError, Logged, Wanted, is_wanted


class MemoryStore:
    """All in lists and dicts. It keeps the log, and makes realms from it when asked."""

    def __init__(self) -> None:
        self._log: list[Logged] = []
        self._versions: dict[str, int] = {}
        self._documents: dict[tuple[str, str, str], bytes] = {}

    def load(self, realm: str | None = None) -> Iterable[Realm]:
        realms = {id: Realm(id, version) for id, version in self._versions.items() if realm in (None, id)}
        for each in self._log:
            if each.realm in realms:
                fold(realms[each.realm], each.event)
        return realms.values()

    def commit(self, changes: Sequence[Change]) -> None:
        versions = dict(self._versions)
        for change in changes:
            if versions.get(change.realm, 0) != change.version - 1:
                raise ConflictError(change.realm)
            versions[change.realm] = change.version
        self._versions = versions
        for change in changes:
            self._log.extend(
                Logged(len(self._log) + number, change.realm, event)
                for number, event in enumerate(change.events, 1)
            )
            for (subject, name), body in change.documents.items():
                if body is None:
                    self._documents.pop((change.realm, subject, name), None)
                else:
                    self._documents[change.realm, subject, name] = body

    def log(self, realm: str = "", after: int = 0) -> Iterable[Logged]:
        return [each for each in self._log[after:] if realm in ("", each.realm)]

    def told(self, wanted: Wanted) -> list[Logged]:
        return [each for each in self._log if is_wanted(each.realm, each.event, wanted)]

    def document(self, realm: str, subject: str, name: str) -> bytes | None:
        return self._documents.get((realm, subject, name))

    def documents(self, realm: str, subject: str = "") -> dict[tuple[str, str], int]:
        return {
            (of, name): len(body)
            for (place, of, name), body in self._documents.items()
            if place == realm and subject in ("", of)
        }

    def close(self) -> None:
        self._log.clear()
