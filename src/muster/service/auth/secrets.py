# SPDX-License-Identifier: Apache-2.0
"""Secrets at rest: sealed before they reach the database, with a key that is not in it (AES-256-GCM).

A sealed text names its key, and is bound to what it belongs to: copied to another row or field it cannot be
opened. With a new key in front of the old ones, old texts can still be opened, and sealed anew.
"""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from muster.certificates.keys import Random
from muster.errors import ExternalError, UserError
from muster.frozen import dataclass
from muster.service.auth.keyfile import load_or_make, replace_key_file

KEY_FILE: Final = "secrets.key"
MARK: Final = "sealed:1:"
FILE_MARK: Final = b"muster-sealed:1:"
"""The first bytes of a sealed file; the id of the key and a colon follow."""
_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12
_TAG_BYTES: Final = 16
_LONGEST_ID: Final = 64


@dataclass(frozen=True)
class Place:
    """Where a secret belongs."""

    subject: str
    """What it is part of, such as a cluster's id."""
    name: str
    """Which field of that it is."""

    @property
    def bound(self) -> bytes:
        """The same as bytes; the length in front keeps two places from looking alike."""
        subject = self.subject.encode()
        return b"%d:%s%s" % (len(subject), subject, self.name.encode())


@dataclass(frozen=True)
class Safe:
    """Seals with its first key, and opens with all."""

    keys: Mapping[str, bytes] = field(repr=False)
    random: Random = field(repr=False)

    def seal(self, secret: str, place: Place) -> str:
        """A secret as it may be stored; the same secret looks different each time."""
        key_id, key = next(iter(self.keys.items()))
        nonce = self.random(_NONCE_BYTES)
        sealed = AESGCM(key).encrypt(nonce, secret.encode(), place.bound)
        return f"{MARK}{key_id}:{urlsafe_b64encode(nonce + sealed).decode('ascii')}"

    def open(self, text: str, place: Place) -> str:
        """The secret that was sealed for this place."""
        key_id, data = _take_apart(text, place)
        key = self.keys.get(key_id)
        if key is None:
            raise ExternalError(
                f"the {place.name} of {place.subject} is sealed with key {key_id}, which is not there",
                hint=f"put that key back into {KEY_FILE}, or set the {place.name} again",
            )
        try:
            opened = AESGCM(key).decrypt(data[:_NONCE_BYTES], data[_NONCE_BYTES:], place.bound)
        except (InvalidTag, ValueError) as error:
            raise _damaged(place) from error
        return opened.decode()

    def seal_file(self, data: bytes, place: Place) -> bytes:
        """A file as it may be stored."""
        key_id, key = next(iter(self.keys.items()))
        nonce = self.random(_NONCE_BYTES)
        return b"".join((_file_head(key_id), nonce, AESGCM(key).encrypt(nonce, data, place.bound)))

    def open_file(self, data: bytes, place: Place) -> bytes:
        """The file that was sealed for this place."""
        key_id = find_file_key(data)
        key = self.keys.get(key_id)
        if key is None:
            raise ExternalError(
                f"the file {place.name} of {place.subject} is sealed with key {key_id}, which is missing",
                hint=f"restore {KEY_FILE} from a backup",
            )
        start = len(_file_head(key_id))
        nonce, sealed = data[start : start + _NONCE_BYTES], data[start + _NONCE_BYTES :]
        try:
            return AESGCM(key).decrypt(nonce, sealed, place.bound)
        except (InvalidTag, ValueError) as error:
            raise _damaged(place) from error

    def is_current(self, text: str) -> bool:
        """Whether a text is sealed with the key that seals now."""
        return text.startswith(f"{MARK}{next(iter(self.keys))}:")

    def renew(self, text: str, place: Place) -> str:
        """The same secret, sealed with the key that seals now."""
        return text if self.is_current(text) else self.seal(self.open(text, place), place)


def is_sealed(text: str) -> bool:
    """Whether a text looks like one that was sealed."""
    return text.startswith(MARK)


def find_key(text: str) -> str:
    """The id of the key that a text is sealed with; empty if it is not sealed."""
    return text[len(MARK) :].partition(":")[0] if is_sealed(text) else ""


def find_file_key(data: bytes) -> str:
    """The id of the key that a file is sealed with; empty if it is not sealed."""
    if not data.startswith(FILE_MARK):
        return ""
    key_id, colon, _ = data[len(FILE_MARK) :][:_LONGEST_ID].partition(b":")
    return key_id.decode("ascii", "replace") if colon else ""


def sealed_overhead(key_id: str) -> int:
    """How many bytes a sealed file is longer than its content."""
    return len(_file_head(key_id)) + _NONCE_BYTES + _TAG_BYTES


def _file_head(key_id: str) -> bytes:
    return b"%s%s:" % (FILE_MARK, key_id.encode("ascii"))


def load_safe(folder: Path, random: Random) -> Safe:
    """The safe of a service; on its first start the key is made."""
    path = folder / KEY_FILE
    return Safe(_parse(load_or_make(path, lambda: _new_line(random)), path), random)


def rotate_safe(folder: Path, random: Random) -> Safe:
    """Seal with a new key from now on. The old ones stay, until `renew` has been over every secret."""
    path = folder / KEY_FILE
    old = load_or_make(path, lambda: _new_line(random))
    _parse(old, path)
    replace_key_file(path, _new_line(random) + old)
    return load_safe(folder, random)


def forget_old_keys(folder: Path, random: Random) -> Safe:
    """Keep the first key alone, once nothing is sealed with the others."""
    path = folder / KEY_FILE
    lines = load_or_make(path, lambda: _new_line(random)).splitlines(keepends=True)
    _parse(b"".join(lines), path)
    replace_key_file(path, lines[0])
    return load_safe(folder, random)


def _new_line(random: Random) -> bytes:
    return urlsafe_b64encode(random(_KEY_BYTES)) + b"\n"


def _parse(data: bytes, path: Path) -> dict[str, bytes]:
    """The keys in a file, one on each line, newest first, by their ids."""
    try:
        keys = [urlsafe_b64decode(line) for line in data.split()]
    except ValueError:
        keys = []
    if not keys or any(len(key) != _KEY_BYTES for key in keys):
        raise UserError(
            f"{path} does not hold the keys that secrets are sealed with (32 bytes as base64 on each line)",
            hint="restore it from a backup: without it, stored secrets cannot be read",
        )
    return {hashlib.sha256(b"muster key id" + key).hexdigest()[:12]: key for key in keys}


def _take_apart(text: str, place: Place) -> tuple[str, bytes]:
    key_id, colon, body = text.removeprefix(MARK).partition(":")
    if not text.startswith(MARK) or not colon:
        raise _damaged(place)
    try:
        data = urlsafe_b64decode(body)
    except ValueError as error:
        raise _damaged(place) from error
    if len(data) < _NONCE_BYTES:
        raise _damaged(place)
    return key_id, data


def _damaged(place: Place) -> ExternalError:
    return ExternalError(
        f"the stored {place.name} of {place.subject} cannot be opened: it was damaged, or moved there",
        hint=f"set the {place.name} again, or restore the database from a backup",
    )
