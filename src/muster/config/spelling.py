# SPDX-License-Identifier: Apache-2.0
"""Misspelt words: what was most likely meant, and whether that is certain enough to repair it."""

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


def is_typo(word: str, right: str) -> bool:
    """Whether two names differ in more than a number: eno1 and eno2 are both right, en01 is not."""
    if re.split("[0-9]+", word) != re.split("[0-9]+", right):
        return True
    return _numbers(word) == _numbers(right)


def _numbers(word: str) -> list[str]:
    """The numbers in a name, compared as texts: they may have more digits than Python converts."""
    return [number.lstrip("0") for number in re.findall("[0-9]+", word)]
