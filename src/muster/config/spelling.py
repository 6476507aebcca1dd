# SPDX-License-Identifier: Apache-2.0
"""Words: what a misspelt one most likely means, whether that is certain enough to repair it, and plurals."""

from __future__ import annotations

import re
from collections.abc import Iterable


def closest(word: str, choices: Iterable[str]) -> str | None:
    """The choice that a misspelt word most likely means, or None."""
    # Most sites have no misspelt word, and loading difflib takes longer than reading a small file.
    from difflib import get_close_matches

    lowered = {choice.lower(): choice for choice in choices}
    matches = get_close_matches(word.lower(), list(lowered), n=1, cutoff=0.75)
    return lowered[matches[0]] if matches else None


def near_names(word: str, names: Iterable[str]) -> list[str]:
    """The names that a misspelt one may mean."""
    return [name for name in names if closest(word, [name])]


def slip_of(word: str, choices: Iterable[str]) -> str | None:
    """The one choice that a word is but for a letter or two, so that nothing else can be meant."""
    limit = 2 if len(word) > 5 else 1
    near = [choice for choice in choices if _edits(word.lower(), choice.lower()) <= limit]
    return near[0] if len(near) == 1 and len(word) > 3 and is_typo(word, near[0]) else None


def _edits(word: str, right: str) -> int:
    """How many letters to add, drop, change or swap with their neighbours make one word the other."""
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, mine in enumerate(word, start=1):
        above, row, older = row, [i], before
        for j, other in enumerate(right, start=1):
            row.append(min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (mine != other)))
            if i > 1 and j > 1 and mine == right[j - 2] and word[i - 2] == other:
                row[j] = min(row[j], older[j - 2] + 1)
        before = above
    return row[-1]


def is_typo(word: str, right: str) -> bool:
    """Whether two names differ in more than a number: eno1 and eno2 are both right, en01 is not."""
    if re.split("[0-9]+", word) != re.split("[0-9]+", right):
        return True
    return _numbers(word) == _numbers(right)


def _numbers(word: str) -> list[str]:
    """The numbers in a name, compared as texts: they may have more digits than Python converts."""
    return [number.lstrip("0") for number in re.findall("[0-9]+", word)]


def plural(count: int, word: str) -> str:
    """``1 host``, ``2 hosts``."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
