# SPDX-License-Identifier: Apache-2.0
"""Store whose files are sealed: Ignition with private keys, credentials and manifests reach no disk in clear.

Every file is sealed when it is committed and opened when it is read. Exceptions are logs, which support tools
read without the key, and connectivity reports.
"""

from __future__ import annotations

import logging
from collections.abc import Container, Iterable, Sequence
from typing import Final

import msgspec

from muster.service.auth.secrets import Place, Safe, find_file_key, find_key, sealed_overhead
from muster.service.realm import Realm
from muster.service.replies.reports import DOCUMENT as REPORT
from muster.service.store.port import Change, ConflictError, Ears, Logged, Store, StoreError, Wanted

_log: Final = logging.getLogger("muster.service")
_PLAIN: Final = ("logs/", REPORT)
_KEYS: Final = "secret-keys"
_SEALED: Final = "files-sealed"
_SCRUBBED: Final = "files-scrubbed"
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
        """Seal the files that an older Muster wrote in clear, once; returns the number of files."""
        count = 0
        if not is_all_sealed(self.inner):
            count = sum(self._seal_realm(realm) for realm in self.inner.versions())
            self.inner.write_note(_SEALED, "yes")
        self._scrub_once()
        return count

    def _seal_realm(self, realm: str) -> int:
        """Seal the files of a realm. Other replicas may write it meanwhile: the newer files stay."""
        for attempt in range(1, _TRIES + 1):
            version = self.inner.versions()[realm]  # Before the files: a later write of them is a conflict.
            plain = self._find_plain(realm)
            if not plain:
                break
            try:
                self.commit([Change(realm, version + 1, (), {}, plain)])
            except ConflictError:
                if attempt == _TRIES:
                    raise
            else:
                return len(plain)
        return 0

    def _find_plain(self, realm: str) -> dict[tuple[str, str], bytes | None]:
        found: dict[tuple[str, str], bytes | None] = {}
        for subject, name in self.inner.documents(realm):
            body = self.inner.document(realm, subject, name) if is_secret(name) else None
            if body is not None and not find_file_key(body):
                found[subject, name] = body
        return found

    def _scrub_once(self) -> None:
        """Remove clear text that was replaced or deleted from the files of the database.

        It has a note of its own: after a failure, or when the process was killed, the next start repeats it.
        """
        if self.inner.note(_SCRUBBED):
            return
        if self.inner.versions():  # A new database never had clear text.
            try:
                self.inner.scrub()
            except StoreError as error:
                _log.warning(
                    "the database may still contain old copies of secrets in clear text: they could not be"
                    " removed (%s); it is tried again at the next start of the service",
                    f"{error.message}; {error.hint}" if error.hint else error.message,
                )
                return
        self.inner.write_note(_SCRUBBED, "yes")

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
