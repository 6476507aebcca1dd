# SPDX-License-Identifier: Apache-2.0
"""Sets of small numbers as bits of one: a thousand hosts are a hundred bytes, compared in one step."""

from __future__ import annotations

from collections.abc import Iterator


def read_bits(text: str) -> int:
    """A set as it is stored."""
    return int(text, 16) if text else 0


def write_bits(bits: int) -> str:
    """A set as it is stored; nothing for an empty one."""
    return f"{bits:x}" if bits else ""


def numbers_in(bits: int) -> Iterator[int]:
    """The numbers of a set, the smallest first."""
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low
