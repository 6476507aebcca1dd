# SPDX-License-Identifier: Apache-2.0
"""A line of text that somebody edits, key by key; typed fast, as by a script, it ends the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from muster.frozen import dataclass

_LONGEST: Final = 200
_MARK: Final = "|"
_CUT: Final = "<"


@dataclass(frozen=True)
class Edited:
    """A text, and where in it somebody is."""

    text: str = ""
    cursor: int = 0


def begin(text: str) -> Edited:
    """A text at whose end somebody begins."""
    return Edited(text, len(text))


def edit(line: Edited, key: str, character: str) -> Edited | None:
    """What a key makes of it; None when it means nothing to a text."""
    text, cursor = line.text, line.cursor
    moves = {
        "left": cursor - 1,
        "right": cursor + 1,
        "home": 0,
        "ctrl+a": 0,
        "end": len(text),
        "ctrl+e": len(text),
    }
    if key in moves:
        return replace(line, cursor=max(0, min(len(text), moves[key])))
    if key == "backspace":
        return Edited(text[: max(0, cursor - 1)] + text[cursor:], max(0, cursor - 1))
    if key == "delete":
        return Edited(text[:cursor] + text[cursor + 1 :], cursor)
    if key == "ctrl+u":
        return Edited(text[cursor:], 0)
    if len(character) == 1 and character.isprintable():
        whole = text[:cursor] + character + text[cursor:]
        return Edited(whole, cursor + 1) if len(whole) <= _LONGEST else line
    return None


def render_edited(line: Edited, room: int) -> str:
    """The text with a mark where somebody is; as much of it as there is room for."""
    marked = line.text[: line.cursor] + _MARK + line.text[line.cursor :]
    if len(marked) <= room:
        return marked
    first = max(0, min(line.cursor - room // 2, len(marked) - room))
    return (_CUT if first else "") + marked[first + bool(first) : first + room]
