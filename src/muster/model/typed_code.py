# SPDX-License-Identifier: Apache-2.0
"""Codes that people read from one screen and type into another: 50 bits in ten letters and digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Without letters that look like others (Crockford's base 32)."""
LENGTH: Final = 10
BITS: Final = 50
_ALIKE: Final = str.maketrans("OIL", "011")
_BLANKS: Final = " -\t\r\n"


def make_code(random: Callable[[int], bytes]) -> str:
    """A new code; all codes are equally likely."""
    number = int.from_bytes(random(8), "big")
    return "".join(ALPHABET[number >> (5 * place) & 31] for place in range(LENGTH))


def parse_code(text: str) -> str | None:
    """A code as a person typed it, in any case and with any blanks; None if it is not a code."""
    code = "".join(each for each in text.upper() if each not in _BLANKS).translate(_ALIKE)
    return code if len(code) == LENGTH and all(each in ALPHABET for each in code) else None
