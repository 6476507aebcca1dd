# SPDX-License-Identifier: Apache-2.0
"""Token buckets: how many requests an address may make, and how much hosts may send."""

from __future__ import annotations

from typing import Final

from muster.frozen import dataclass

MAX_ADDRESSES: Final = 20_000
MAX_SOURCES: Final = 4096


@dataclass(frozen=True)
class Rate:
    """So many at once, and so many a second from then on."""

    burst: float
    per_second: float

    def refill(self, level: float, seconds: float) -> float:
        """The level of a bucket after some time."""
        return min(self.burst, level + max(0.0, seconds) * self.per_second)


class Buckets:
    """One bucket for each address. Those that are full need not be remembered."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._level: dict[str, tuple[float, float]] = {}

    def take(self, address: str, now: float) -> float:
        """Take one; the seconds to wait when the bucket is empty, else 0."""
        rate = self._rate
        level, last = self._level.pop(address, (rate.burst, now))
        level = rate.refill(level, now - last)
        wait = 0.0 if level >= 1 else (1 - level) / rate.per_second
        # Those who asked last stand last, so that the first is the one to forget.
        self._level[address] = (level if wait else level - 1, now)
        if len(self._level) > MAX_ADDRESSES:
            del self._level[next(iter(self._level))]
        return wait


@dataclass(frozen=True)
class Taken:
    """What came of an amount that a source sent."""

    granted: int
    begins: bool = False
    """Whether this is the first of it that is suppressed."""
    suppressed: int = 0
    """How much was suppressed before this; reported once, with the next grant."""


class Allowance:
    """The same for amounts: what does not fit is suppressed and counted."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._sources: dict[str, tuple[float, float, int]] = {}

    def take(self, source: str, amount: int, now: float) -> Taken:
        """Take as much of an amount as there is."""
        level, suppressed = self._look(source, now)
        granted = max(0, min(amount, int(level)))
        missing = amount - granted
        reported = suppressed if granted else 0
        self._note(source, level - granted, now, suppressed - reported + missing)
        return Taken(granted, begins=missing > 0 and suppressed == reported, suppressed=reported)

    def wait(self, source: str, now: float) -> float:
        """The seconds until there is something again; 0 while there is."""
        level, _ = self._look(source, now)
        return 0.0 if level >= 1 else (1 - level) / self._rate.per_second

    def charge(self, source: str, amount: int, now: float) -> None:
        """Take all of an amount whose size was known too late; what is missing is taken from the refill."""
        level, suppressed = self._look(source, now)
        self._note(source, level - amount, now, suppressed)

    def _look(self, source: str, now: float) -> tuple[float, int]:
        """How much there is now, and how much was suppressed."""
        level, last, suppressed = self._sources.get(source, (self._rate.burst, now, 0))
        return self._rate.refill(level, now - last), suppressed

    def _note(self, source: str, level: float, now: float, suppressed: int) -> None:
        self._sources.pop(source, None)
        # Those who sent last stand last, so that the first is the one to forget.
        self._sources[source] = (level, now, suppressed)
        if len(self._sources) > MAX_SOURCES:
            del self._sources[next(iter(self._sources))]
