# SPDX-License-Identifier: Apache-2.0
"""Bytes of a serial console → lines of text, without what only a terminal understands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_ESCAPES: Final = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # Colours and movements.
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # Titles, and what systemd tells terminals.
    r"|\x1b[P^_][^\x1b]*\x1b\\"
    r"|\x1b[ -/]*[0-~]"
)
_MOVES: Final = re.compile(r"\x1b\[\d*(?:;\d*)?[Hf]|\x1b\[2J|\x1bc")
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


class LineSplitter:
    """Gives lines as they become complete."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[str]:
        """The lines that these bytes complete."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        for line in whole:
            yield from clean(line)

    def flush(self) -> Iterator[str]:
        """What is there of a line that has no end yet."""
        rest, self._rest = self._rest, b""
        yield from clean(rest)


def clean(line: bytes) -> Iterator[str]:
    """The texts of a line: firmware moves the cursor where others begin a new line. No empty ones."""
    text = line.decode("utf-8", "replace")
    for part in _MOVES.split(text):
        shown = _CONTROLS.sub("", _ESCAPES.sub("", part)).rstrip()
        if shown.strip():
            yield shown
