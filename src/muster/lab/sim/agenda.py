# SPDX-License-Identifier: Apache-2.0
"""What one host has before it, by time; and how long it waits before it tries again what has failed."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from random import Random
from typing import Final, Generic, TypeVar

_E = TypeVar("_E")
_FIRST_S: Final = 0.5
_FACTOR: Final = 1.5
_LONGEST_S: Final = 60.0


class Agenda(Generic[_E]):
    """Events by time; those of one moment in the order in which they were entered."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, _E]] = []
        self._entered = 0

    def push(self, moment: float, event: _E) -> None:
        """Enter an event."""
        heapq.heappush(self._heap, (moment, self._entered, event))
        self._entered += 1

    def due(self) -> float | None:
        """When the next one is."""
        return self._heap[0][0] if self._heap else None

    def pop(self, now: float) -> _E | None:
        """The next event, if its time has come."""
        if not self._heap or self._heap[0][0] > now:
            return None
        return heapq.heappop(self._heap)[2]

    def keep(self, is_kept: Callable[[_E], bool]) -> list[tuple[float, _E]]:
        """Drop all others; what was dropped, with its moment, in order."""
        dropped = sorted(entry for entry in self._heap if not is_kept(entry[2]))
        self._heap = [entry for entry in self._heap if is_kept(entry[2])]
        heapq.heapify(self._heap)
        return [(moment, event) for moment, _, event in dropped]


class Backoff:
    """Longer and longer waits, each a little off, so that many hosts do not come back at the same moment."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._next_s = _FIRST_S

    def next_s(self) -> float:
        """The next wait."""
        found = self._next_s * self._random.uniform(0.5, 1.5)
        self._next_s = min(self._next_s * _FACTOR, _LONGEST_S)
        return found

    def reset(self) -> None:
        """It went well: begin with short waits again."""
        self._next_s = _FIRST_S
