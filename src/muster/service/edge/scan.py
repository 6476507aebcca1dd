# SPDX-License-Identifier: Apache-2.0
"""Looks at JSON before anybody decodes it: how deep it is nested, and how long its longest text is.

Every step is one pass over the bytes that the interpreter does by itself, because hosts send megabytes of it.
Whether it is JSON at all is for the decoder to say.
"""

from __future__ import annotations

from typing import Final

_BRACKETS: Final = bytes.maketrans(b"[]", b"{}")
_REST: Final = bytes(byte for byte in range(256) if byte not in b'[]{}"')
_PLAIN: Final = bytes(byte for byte in range(256) if byte not in b'[]{}"\\/bfnrtu')
"""What neither opens nor closes anything, nor stands behind a backslash."""
_SMALL: Final = 4096


def is_deeper_than(data: bytes, depth: int) -> bool:
    """Whether lists and objects are nested deeper than allowed, or are not closed."""
    if len(data) <= _SMALL and data.count(b"{") + data.count(b"[") <= depth:
        return False
    bare = _without_escapes(data.translate(None, _PLAIN)).translate(_BRACKETS, _REST)
    # Two quotes that meet cancel each other: between them was a text, or the gap between two.
    bare = bare.replace(b'""', b"")
    if b'"' in bare:
        bare = b"".join(bare.split(b'"')[::2])
    for _ in range(depth):
        shorter = bare.replace(b"{}", b"")
        if len(shorter) == len(bare):
            break
        bare = shorter
    return bool(bare)


def has_text_over(data: bytes, length: int) -> bool:
    """Whether a text takes more bytes than allowed, as it is written."""
    if len(data) <= length:
        return False
    return any(len(text) > length for text in _without_escapes(data).split(b'"')[1::2])


def _without_escapes(data: bytes) -> bytes:
    """The same with every quote in it one that begins or ends a text; nothing changes its length."""
    if b"\\" not in data:
        return data
    return data.replace(b"\\\\", b"__").replace(b'\\"', b"__")
