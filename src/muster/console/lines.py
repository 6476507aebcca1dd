# SPDX-License-Identifier: Apache-2.0
"""Lines of a screen: text that any terminal can show, and what it means, from which its colour follows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from textwrap import wrap
from typing import Final

from muster.frozen import dataclass
from muster.redact import printable

_SPELLED: Final = str.maketrans(
    {
        "…": "...",
        "\u2013": "-",
        "\u2014": "-",
        "\u2019": "'",
        "\u201c": '"',
        "\u201d": '"',
        "•": "*",
        "\n": " ",
        "\t": " ",
    }
)
_CUT: Final = ".."
_LEAST: Final = 20
"""No terminal is narrower."""
LABEL: Final = 10
"""So wide is what stands before a text and says what it is about."""


class Tone(StrEnum):
    """What a line means."""

    PLAIN = "plain"
    TITLE = "title"
    GOOD = "good"
    BAD = "bad"
    HINT = "hint"
    DIM = "dim"
    CHOSEN = "chosen"


@dataclass(frozen=True)
class Line:
    """A line of a screen."""

    text: str
    tone: Tone = Tone.PLAIN


def spell(text: str) -> str:
    """A text in the letters that every terminal and every serial line has; it does nothing to them."""
    shown = printable(text.translate(_SPELLED))
    return shown.encode("ascii", "replace").decode("ascii")


def fit(text: str, width: int) -> str:
    """A text that is not wider than a screen."""
    room = max(_LEAST, width)
    return text if len(text) <= room else text[: room - len(_CUT)] + _CUT


def wrap_text(text: str, width: int, indent: str = "", most: int = 1000) -> list[str]:
    """A text in a few lines of a screen; what does not fit into them is cut."""
    parts = wrap(spell(text), max(_LEAST, width - len(indent)))
    if len(parts) > most:
        parts = [*parts[: most - 1], fit(" ".join(parts[most - 1 :]), width - len(indent))]
    return [fit(indent + each, width) for each in parts]


def labelled(label: str, texts: Iterable[str], width: int, tone: Tone = Tone.PLAIN) -> Iterator[Line]:
    """What something is about, and lines of text beside it."""
    for text in texts:
        yield Line(fit(f"{label:<{LABEL}}{spell(text)}", width), tone)
        label = ""


def explain(what: str, text: str, width: int, tone: Tone = Tone.PLAIN, most: int = 1000) -> list[Line]:
    """A text of any length that begins with a word on what it is, below that which it is about."""
    lines = wrap_text(f"{what}: {text}", width, "    ", most) if text else []
    return [Line(each, tone) for each in lines]


def title(left: str, right: str, width: int) -> Line:
    """The first line of a screen."""
    room = max(1, width - len(right) - 2)
    return Line(fit(f" {fit(spell(left), room - 1):<{room}}{right} ", width)[:width], Tone.TITLE)
