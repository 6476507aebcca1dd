# SPDX-License-Identifier: Apache-2.0
"""Something in place of `muster.run.run`, for tests that start no program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from muster.run import PLAIN, Argument, Circumstances


@dataclass(frozen=True)
class Asked:
    """One call."""

    words: list[str]
    feed: str
    heard: Callable[[str], None] | None
    circumstances: Circumstances


class StandIn:
    """Remembers what it was asked for, and answers nothing; a class derived from it may say more."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def __call__(
        self,
        argv: Sequence[Argument],
        *,
        feed: str = "",
        heard: Callable[[str], None] | None = None,
        circumstances: Circumstances = PLAIN,
    ) -> str:
        asked = Asked([str(word) for word in argv], feed, heard, circumstances)
        self.asked.append(asked.words)
        return self.answer(asked)

    def answer(self, asked: Asked) -> str:
        return ""
