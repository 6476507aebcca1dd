# SPDX-License-Identifier: Apache-2.0
"""Passwords: only their hashes are kept (scrypt; bcrypt is understood, as `htpasswd -B` makes it)."""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from typing import Final

import bcrypt

from muster.certificates.keys import Random
from muster.errors import UserError

_COST: Final = 1 << 14
_BLOCK: Final = 8
_LANES: Final = 1
_MAX_COST: Final = 1 << 18
_BCRYPT: Final = re.compile(r"\$2[aby]\$(?:0[4-9]|1\d|20)\$[./A-Za-z0-9]{53}", re.ASCII)
_BCRYPT_BYTES: Final = 72
"""What bcrypt looks at; anything longer cannot have been hashed with it."""
MAX_LENGTH: Final = 1024
MIN_LENGTH: Final = 12
_LOOKALIKES: Final = str.maketrans("013457@$", "oieastas")
_MIN_DIFFERENT: Final = 5
_COMMON: Final = frozenset(
    {
        *("admin", "administrator", "changeit", "changeme", "default", "kubeadmin", "kubernetes", "letmein"),
        *("login", "master", "muster", "openshift", "passphrase", "passwd", "password", "redhat", "root"),
        *("secret", "system", "test", "user", "welcome"),
    }
)
"""Words that are not a password, however often they stand there, and whatever digits are around them."""
_ROWS: Final = (
    "0123456789" * 3,
    "9876543210" * 3,
    "abcdefghijklmnopqrstuvwxyz",
    "qwertyuiopasdfghjklzxcvbnm",
)
"""What fingers type without thinking."""


def hash_password(password: str, random: Random) -> str:
    """What may be written into the settings for a password."""
    salt = random(16)
    digest = _scrypt(password, salt, (_COST, _BLOCK, _LANES))
    return f"scrypt:{_COST}:{_BLOCK}:{_LANES}:{_text(salt)}:{_text(digest)}"


def check_password(password: str, where: str) -> None:
    """Refuse a new password that is too short, or among the first that are guessed."""
    if len(password) < MIN_LENGTH:
        fault = f"has {len(password)} characters; {MIN_LENGTH} are needed at least"
    elif len(password) > MAX_LENGTH:
        fault = f"is longer than {MAX_LENGTH} characters"
    elif _is_common(password.lower()):
        fault = "is among the first that are guessed"
    else:
        return
    raise UserError(
        f"the password in {where} {fault}",
        hint="take several words, or make one: openssl rand -base64 18",
    )


def _is_common(text: str) -> bool:
    if len(set(text)) < _MIN_DIFFERENT or any(text in row for row in _ROWS):
        return True
    return _is_of_common_words(text) or _is_of_common_words(text.translate(_LOOKALIKES))


def _is_of_common_words(text: str) -> bool:
    """Whether all of its letters are words that everybody takes."""
    letters = has_letters = re.sub("[^a-z]", "", text)
    while word := max((each for each in _COMMON if letters.startswith(each)), key=len, default=""):
        letters = letters[len(word) :]
    return bool(has_letters) and not letters


def is_hash(text: str) -> bool:
    """Whether a text is the hash of a password, of a kind that is known here."""
    if text.startswith("scrypt:"):
        return _parse(text) is not None
    return _BCRYPT.fullmatch(text) is not None


def check_hash(text: str) -> None:
    """Refuse a hash in the settings that no password could ever fit."""
    if not is_hash(text):
        raise UserError(
            "the hash of the login's password is neither scrypt nor bcrypt",
            hint="make one with: htpasswd -nBC 12 admin",
        )


def is_password(password: str, text: str) -> bool:
    """Whether a password fits its hash. It takes its time, so that guessing does too."""
    if len(password) > MAX_LENGTH:
        return False
    if not text.startswith("scrypt:"):
        data = password.encode()
        fits = len(data) <= _BCRYPT_BYTES and b"\0" not in data
        return fits and _BCRYPT.fullmatch(text) is not None and bcrypt.checkpw(data, text.encode("ascii"))
    parts = _parse(text)
    if parts is None:
        return False
    cost, salt, digest = parts
    return hmac.compare_digest(_scrypt(password, salt, cost), digest)


def _parse(text: str) -> tuple[tuple[int, int, int], bytes, bytes] | None:
    try:
        _, cost, block, lanes, salt, digest = text.split(":")
        found = (int(cost), int(block), int(lanes)), b64decode(salt), b64decode(digest)
    except ValueError:
        return None
    (n, r, p), _, made = found
    is_cheap = 1 < n <= _MAX_COST and n & (n - 1) == 0 and 0 < r <= 16 and 0 < p <= 4
    return found if is_cheap and len(made) == 32 else None


def _scrypt(password: str, salt: bytes, cost: tuple[int, int, int]) -> bytes:
    n, r, p = cost
    memory = 132 * n * r * p + (1 << 20)
    return hashlib.scrypt(password.encode(), salt=salt, n=n, r=r, p=p, maxmem=memory, dklen=32)


def _text(data: bytes) -> str:
    return b64encode(data).decode("ascii")
