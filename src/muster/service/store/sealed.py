# SPDX-License-Identifier: Apache-2.0
"""Store whose files are sealed: Ignition with private keys, credentials and manifests reach no disk in clear.

Every file is sealed when it is committed and opened when it is read. Exceptions are logs, which support tools
read without the key, and connectivity reports.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Final

import msgspec

from muster.service.auth.secrets import Place, Safe, find_file_key, find_key, sealed_overhead
from muster.service.realm import Realm
from muster.service.replies.reports import DOCUMENT as REPORT
from muster.service.store.port import Change, ConflictError, Ears, Logged, Store, Wanted

_PLAIN: Final = ("logs/", REPORT)
_KEYS: Final = "secret-keys"
_SEALED: Final = "files-sealed"
_TRIES: Final = 5


class SealedStore:
    """Seals with the keys of a safe what another store keeps."""

    def __init__(self, inner: Store, safe: Safe) -> None:
        self.inner, self._safe = inner, safe
        self._overhead = sealed_overhead(next(iter(safe.keys)))

    def commit(self, changes: Sequence[Change]) -> None:
        self.inner.commit([self._seal(each) for each in changes])

    def _seal(self, change: Change) -> Change:
        if not any(body is not None and is_secret(name) for (_, name), body in change.documents.items()):
            return change
        documents = {
            key: self._safe.seal_file(body, _place(change.realm, *key))
            if body is not None and is_secret(key[1])
            else body
            for key, body in change.documents.items()
        }
        return msgspec.structs.replace(change, documents=documents)

    def document(self, realm: str, subject: str, name: str) -> bytes | None:
        body = self.inner.document(realm, subject, name)
        if body is None or not is_secret(name) or not find_file_key(body):
            return body
        return self._safe.open_file(body, _place(realm, subject, name))

    def documents(self, realm: str, subject: str = "") -> dict[tuple[str, str], int]:
        found = self.inner.documents(realm, subject)
        return {key: size - self._overhead if is_secret(key[1]) else size for key, size in found.items()}

    def note_keys(self) -> None:
        """Note the keys that files and secrets are sealed with, so that their loss is noticed."""
        known = " ".join(self._safe.keys)
        if self.inner.note(_KEYS) != known and not find_unreadable(self.inner, self._safe.keys):
            self.inner.write_note(_KEYS, known)

    def seal_all(self) -> int:
        """Seal what an older Muster wrote in clear, once; returns the number of files."""
        if is_all_sealed(self.inner):
            return 0
        count = sum(self._seal_realm(realm) for realm in self.inner.versions())
        if count:
            self.inner.scrub()
        self.inner.write_note(_SEALED, "yes")
        return count

    def _seal_realm(self, realm: str) -> int:
        plain: dict[tuple[str, str], bytes | None] = {}
        for subject, name in self.inner.documents(realm):
            body = self.inner.document(realm, subject, name) if is_secret(name) else None
            if body is not None and not find_file_key(body):
                plain[subject, name] = body
        for attempt in range(_TRIES if plain else 0):
            version = self.inner.versions()[realm] + 1
            try:
                self.commit([Change(realm, version, (), {}, plain)])
                break
            except ConflictError:  # Another replica writes, too.
                if attempt == _TRIES - 1:
                    raise
        return len(plain)

    # The same as without seals

    @property
    def is_shared(self) -> bool:
        return self.inner.is_shared

    @property
    def lost(self) -> str:
        return self.inner.lost

    def versions(self) -> dict[str, int]:
        return self.inner.versions()

    def load(self, realm: str | None = None) -> Iterable[Realm]:
        return self.inner.load(realm)

    def log(self, realm: str = "", after: int = 0) -> Iterable[Logged]:
        return self.inner.log(realm, after)

    def news(self, realm: str, version: int) -> tuple[int, list[Logged]]:
        return self.inner.news(realm, version)

    def listen(self, ears: Ears) -> None:
        self.inner.listen(ears)

    def share(self, hosts: Sequence[str]) -> None:
        self.inner.share(hosts)

    def told(self, wanted: Wanted) -> list[Logged]:
        return self.inner.told(wanted)

    def note(self, name: str) -> str:
        return self.inner.note(name)

    def write_note(self, name: str, value: str) -> None:
        self.inner.write_note(name, value)

    def scrub(self) -> None:
        self.inner.scrub()

    def close(self) -> None:
        self.inner.close()


def is_secret(name: str) -> bool:
    """Whether a file of this name is sealed."""
    return not name.startswith(_PLAIN)


def is_all_sealed(store: Store) -> bool:
    """Whether no file is left that an older Muster wrote in clear."""
    return bool(store.note(_SEALED))


def noted_keys(store: Store) -> frozenset[str]:
    """The ids of the keys that content of a store may be sealed with."""
    return frozenset(store.note(_KEYS).split())


def find_unreadable(store: Store, known: Container[str]) -> dict[str, list[tuple[str, str]]]:
    """The files that are sealed with other keys than those that are known: by realm, subjects and names."""
    found: dict[str, list[tuple[str, str]]] = {}
    for realm in store.versions():
        for subject, name in store.documents(realm):
            body = store.document(realm, subject, name) if is_secret(name) else None
            key = "" if body is None else find_file_key(body) or find_key(body[:64].decode("latin-1"))
            if key and key not in known:
                found.setdefault(realm, []).append((subject, name))
    return found


def _place(realm: str, subject: str, name: str) -> Place:
    return Place(f"{realm}/{subject}", name)
