# SPDX-License-Identifier: Apache-2.0
"""The code that lets hosts join: who knows it proves it, without saying it, and for one authority only.

It has 50 bits, and what is proven with it goes through scrypt first. So nobody finds it by trying before the
hosts are installed, although whoever asks is given something to try with.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

from muster.model.typed_code import ALPHABET, LENGTH, make_code, parse_code

__all__ = ["ALPHABET", "LENGTH", "derive_key", "is_proven", "make_code", "parse_code", "prove", "render_code"]

_COST: Final = 1 << 15
_BLOCK: Final = 8
_MEMORY: Final = 128 * _BLOCK * _COST + (1 << 20)
_LABEL: Final = b"muster join 1"


def render_code(code: str) -> str:
    """A code as people read it."""
    return f"{code[: LENGTH // 2]}-{code[LENGTH // 2 :]}"


def derive_key(code: str, authority: bytes) -> bytes:
    """What a code is worth for one authority (its certificate, DER); takes a moment, on purpose."""
    salt = hashlib.sha256(_LABEL + authority).digest()
    return hashlib.scrypt(code.encode("ascii"), salt=salt, n=_COST, r=_BLOCK, p=1, maxmem=_MEMORY, dklen=32)


def prove(key: bytes, what: str) -> str:
    """Shows that somebody knows the code; for this purpose, and no other."""
    return hmac.new(key, _LABEL + what.encode(), hashlib.sha256).hexdigest()


def is_proven(key: bytes, what: str, proof: str) -> bool:
    """Whether somebody knows it."""
    return hmac.compare_digest(prove(key, what).encode(), proof.encode("utf-8", "replace"))
