# SPDX-License-Identifier: Apache-2.0
"""One-time login code that the console, or the terminal of `muster serve`, shows.

It works once, and for ten minutes. Wrong guesses do not replace it: otherwise a stranger who guesses could
take the code away from its owner faster than a person can type it. Its length is the protection instead.

A code has 50 bits. A service answers fewer than 10,000 logins a second, from however many addresses they come
(`benchmarks/attack.py` measures it), so there are at most 6,000,000 guesses in the life of a code. The chance
to guess it is 6e6 / 2**50 = 5e-9 for each code, and 3e-4 for a year of guessing without a pause.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import Final

from muster.certificates.keys import Random
from muster.model.typed_code import LENGTH, make_code, parse_code

VALID_S: Final = 600.0
_LONGEST: Final = 64


class OneTimeCode:
    """The code that is valid now."""

    def __init__(self, random: Random) -> None:
        self.on_new: Callable[[], None] = _nobody
        """Called when there is a new code that has to be shown to be of use."""
        self._random = random
        self._code = ""
        self._until = 0.0

    def show(self, now: float) -> str:
        """The code as the console shows it, in two groups."""
        code = self._current(now)
        return f"{code[: LENGTH // 2]} {code[LENGTH // 2 :]}"

    def expires(self, now: float) -> float:
        """When the code that is shown will be replaced."""
        self._current(now)
        return self._until

    def take(self, text: str, now: float) -> bool:
        """Whether a text is the code; if it is, there is a new one from now on."""
        code = self._current(now)
        typed = parse_code(text[:_LONGEST]) or ""
        if not hmac.compare_digest(typed.encode(), code.encode()):
            return False
        self._until = 0.0
        return True

    def _current(self, now: float) -> str:
        # A clock that was set back must not let a code live on.
        if not self._until - VALID_S <= now < self._until:
            self._code, self._until = make_code(self._random), now + VALID_S
            self.on_new()
        return self._code


def _nobody() -> None:
    pass
