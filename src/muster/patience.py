# SPDX-License-Identifier: Apache-2.0
"""How long to wait: for something, and before it is tried again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

T = TypeVar("T")

_FIRST_S: Final = 0.5
_FACTOR: Final = 1.7


class Patience:
    """How long before the next try: longer each time, and not when all others do.

    It grows with every failure, and is gone after a success.
    """

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


async def finish_within(work: Awaitable[T], deadline_s: float) -> T:
    """The result of some work; `TimeoutError` if it takes longer, whether or not it can be given up."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=deadline_s)
        if not task.done():
            raise TimeoutError
        return task.result()
    finally:
        task.cancel()
