# SPDX-License-Identifier: Apache-2.0
"""The one-time code that the console shows to somebody who stands before it.

It works once, and for a few minutes. After some wrong guesses, whoever made them, there is a new one. Whoever
comes too late makes the console show a new one by trying.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable
from typing import Final

from muster.certificates.keys import Random

DIGITS: Final = 8
VALID_S: Final = 600.0
MAX_WRONG: Final = 10
_TOO_MANY: Final = 2**64 // 10**DIGITS * 10**DIGITS
"""Above this, the remainder would prefer small codes."""
_SPACES: Final = re.compile(r"[\s-]+")


class OneTimeCode:
    """The code of this moment."""

    def __init__(self, random: Random) -> None:
        self.on_new: Callable[[], None] = _nobody
        """Called when there is a new code that has to be shown to be of use."""
        self._random = random
        self._code = ""
        self._until = 0.0
        self._wrong = 0

    def show(self, now: float) -> str:
        """The code as the console shows it, in two groups."""
        code = self._current(now)
        return f"{code[: DIGITS // 2]} {code[DIGITS // 2 :]}"

    def expires(self, now: float) -> float:
        """When the code that is shown will be replaced."""
        self._current(now)
        return self._until

    def take(self, text: str, now: float) -> bool:
        """Whether a text is the code; when it is, there is a new one from now on."""
        code = self._current(now)
        typed = _SPACES.sub("", text[:64])
        if hmac.compare_digest(typed.encode(), code.encode()):
            self._until = 0.0
            return True
        self._wrong += 1
        if self._wrong >= MAX_WRONG:
            self._until = 0.0
        return False

    def _current(self, now: float) -> str:
        # A clock that was set back must not let a code live on.
        if not self._until - VALID_S <= now < self._until:
            self._code, self._until, self._wrong = make_code(self._random), now + VALID_S, 0
            self.on_new()
        return self._code


def _nobody() -> None:
    pass


def make_code(random: Random) -> str:
    """Digits, all of them as likely as any other."""
    while (number := int.from_bytes(random(8), "big")) >= _TOO_MANY:
        pass
    return f"{number % 10**DIGITS:0{DIGITS}d}"
