# SPDX-License-Identifier: Apache-2.0
"""How many requests an address may make: each takes from a bucket that fills at a steady rate."""

from __future__ import annotations

from typing import Final

from muster.frozen import dataclass

MAX_ADDRESSES: Final = 20_000


@dataclass(frozen=True)
class Rate:
    """So many at once, and so many a second from then on."""

    burst: float
    per_second: float


class Buckets:
    """One bucket for each address. Those that are full need not be remembered."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._level: dict[str, tuple[float, float]] = {}

    def take(self, address: str, now: float) -> float:
        """Take one; the seconds to wait when the bucket is empty, else 0."""
        rate = self._rate
        level, last = self._level.pop(address, (rate.burst, now))
        level = min(rate.burst, level + max(0.0, now - last) * rate.per_second)
        wait = 0.0 if level >= 1 else (1 - level) / rate.per_second
        # Those who asked last stand last, so that the first is the one to forget.
        self._level[address] = (level if wait else level - 1, now)
        if len(self._level) > MAX_ADDRESSES:
            del self._level[next(iter(self._level))]
        return wait
