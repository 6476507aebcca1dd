# SPDX-License-Identifier: Apache-2.0
"""How long to wait before something is tried again: longer each time, and not when all others do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

_FIRST_S: Final = 0.5
_FACTOR: Final = 1.7


class Patience:
    """Grows with every failure, and is gone after a success."""

    def __init__(self, chance: Callable[[], float], longest_s: float = 10.0) -> None:
        self._chance, self._longest_s = chance, longest_s
        self._next_s = _FIRST_S

    def next_s(self, least_s: float = 0.0) -> float:
        """Seconds to wait now; the service may ask for more."""
        wait = self._next_s * (0.5 + self._chance())
        self._next_s = min(self._next_s * _FACTOR, self._longest_s)
        return max(wait, least_s)

    def reset(self) -> None:
        """Something worked."""
        self._next_s = _FIRST_S
