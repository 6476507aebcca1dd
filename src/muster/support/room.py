# SPDX-License-Identifier: Apache-2.0
"""Writing the files of a bundle within bounds: each has its own, all together have one, and a cut is said."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from threading import Lock
from typing import Final

from muster.frozen import dataclass

PIECE_BYTES: Final = 256 << 10
"""As much as is searched at once, so that others in this process get their turn."""
BUNDLE_BYTES: Final = 128 << 20
"""A host that runs from its medium has nothing but its memory to write to."""
CUT: Final = "[cut here: the bundle has no room for more]\n"
_PRIVATE: Final = 0o600


@dataclass(frozen=True)
class Kept:
    """What came of collecting something."""

    missed: tuple[tuple[str, str], ...] = ()
    """What is not there, or not as a whole, and why."""
    left_out: tuple[str, ...] = ()
    """What may hold secrets."""


class Room:
    """How much may still be written; those who collect share it."""

    def __init__(self, left: int = BUNDLE_BYTES) -> None:
        self._left, self._lock = left, Lock()

    def take(self, size: int) -> bool:
        """Whether there is room for so much, which then is taken."""
        with self._lock:
            is_enough = size <= self._left
            self._left -= size if is_enough else 0
            return is_enough

    def close(self) -> None:
        """Take nothing more: who was too late stops where they are."""
        with self._lock:
            self._left = 0

    @property
    def is_full(self) -> bool:
        return self._left <= 0


def write_pieces(path: Path, pieces: Iterable[str], room: Room) -> bool:
    """Write a text that only its owner may read, as far as there is room; whether all of it is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, _PRIVATE)
    with os.fdopen(descriptor, "wb") as file:
        for piece in pieces:
            data = piece.encode("utf-8", errors="replace")
            if not room.take(len(data)):
                file.write(CUT.encode())
                return False
            file.write(data)
    return True


def load_pieces(path: Path, *, is_cut: bool) -> Iterator[str]:
    """The lines of a long text, some at a time; when it was cut off, without the first."""
    with path.open("rb") as file:
        if is_cut:
            file.readline()
        while lines := file.readlines(PIECE_BYTES):
            yield b"".join(lines).decode(errors="replace")


def reason_of(error: BaseException) -> str:
    """Why something could not be read or written."""
    if isinstance(error, OSError) and not isinstance(error, TimeoutError):
        return (error.strerror or str(error)).lower()
    return str(error) or type(error).__name__
