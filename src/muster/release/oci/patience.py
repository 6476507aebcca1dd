# SPDX-License-Identifier: Apache-2.0
"""Trying again: how often, and after how long, so that many who wait do not all come back at once."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from muster.frozen import dataclass
from muster.release.oci.trouble import Unreachable

_logger: Final = logging.getLogger(__name__)
_T = TypeVar("_T")


@dataclass(frozen=True)
class Patience:
    """How trouble that may pass is borne; tests have less of it."""

    tries: int = 5
    """How often in a row nothing new may come of it."""
    first_s: float = 1
    longest_s: float = 30
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    random: Callable[[], float] = random.random

    def pause_s(self, idle: int, asked_s: float) -> float:
        """How long to wait after so many idle tries in a row; longer by what the server asks for."""
        longest = min(self.longest_s, self.first_s * 2.0 ** max(0, idle - 1))
        return asked_s + longest * (1 + self.random()) / 2

    async def wait(self, error: Unreachable, idle: int) -> None:
        """Wait before the next try; when there were enough of them, the error is raised."""
        if not error.passing:
            raise error
        if idle >= self.tries:
            raise gave_up(error, idle)
        pause = self.pause_s(idle, error.wait_s)
        _logger.info("%s; trying again in %.0f s", error.message, pause)
        await self.sleep(pause)


def gave_up(error: Unreachable, tries: int) -> Unreachable:
    """The last error of several, for who does not try any longer."""
    message = error.message if tries < 2 else f"{error.message}; gave up after {tries} tries"
    return Unreachable(message, hint=error.hint, passing=False)


async def persist(work: Callable[[], Awaitable[_T]], patience: Patience) -> _T:
    """Do some work until it is done, or fails for good."""
    tries = 0
    while True:
        try:
            return await work()
        except Unreachable as error:
            tries += 1
            await patience.wait(error, tries)
