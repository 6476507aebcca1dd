# SPDX-License-Identifier: Apache-2.0
"""Kinds and sizes of terminals, and what programs on one find in their environment."""

from __future__ import annotations

import termios
from collections.abc import MutableMapping
from typing import Final

COLUMNS: Final = 80
ROWS: Final = 24
SCREEN: Final = "linux"
"""The kind of terminal that the screen of a host is."""


def find_kind(tty: str, given: str) -> str:
    """The kind of a terminal, if nobody said it: Linux' own on screens, something modest on serial lines."""
    if given and given != "unknown":
        return given
    name = tty.removeprefix("/dev/")
    return SCREEN if name.startswith("tty") and name[3:].isdigit() else "vt220"


def is_plain(kind: str) -> bool:
    """Whether a terminal can only show one line after the other."""
    return kind in ("", "dumb")


def settle_size(descriptor: int) -> tuple[int, int]:
    """Columns and rows; a serial line that does not know them has those of the oldest terminals."""
    try:
        rows, columns = termios.tcgetwinsize(descriptor)
    except termios.error:
        return COLUMNS, ROWS
    if rows and columns:
        return columns, rows
    termios.tcsetwinsize(descriptor, (ROWS, COLUMNS))
    return COLUMNS, ROWS


def settle_environment(environment: MutableMapping[str, str], tty: str) -> str:
    """What programs on this terminal find in their environment; its kind."""
    environment["TERM"] = kind = find_kind(tty, environment.get("TERM", ""))
    for name in ("COLUMNS", "LINES"):
        environment.pop(name, None)
    environment.update(
        TEXTUAL_DISABLE_KITTY_KEY="1", TEXTUAL_ANIMATIONS="none", TEXTUAL_COLOR_SYSTEM="standard"
    )
    return kind
