# SPDX-License-Identifier: Apache-2.0
"""Token buckets: how many requests an address may make, and how much hosts may send."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from muster.frozen import dataclass
from muster.serving.accept import prefix_of
from muster.serving.connections import cached_network_of

MAX_ADDRESSES: Final = 20_000
MAX_SOURCES: Final = 4096
NEIGHBOURS: Final = 8
"""How many times the rate of one address all addresses of an IPv6 /64 have together."""


@dataclass(frozen=True)
class Rate:
    """So many at once, and so many a second from then on."""

    burst: float
    per_second: float

    def refill(self, level: float, seconds: float) -> float:
        """The level of a bucket after some time."""
        return min(self.burst, level + max(0.0, seconds) * self.per_second)


class Buckets:
    """One bucket for each source. Those that are full need not be remembered."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._level: dict[str, tuple[float, float]] = {}

    def take(self, source: str, now: float) -> float:
        """Take one; the seconds to wait when the bucket is empty, else 0."""
        level = self._refill(source, now)
        wait = 0.0 if level >= 1 else (1 - level) / self._rate.per_second
        self._note(source, level if wait else level - 1, now)
        return wait

    def reserve(self, source: str, now: float, longest: float) -> float:
        """Take one that may not be there yet; the seconds to wait for it, but not more than the longest."""
        level = max(self._refill(source, now) - 1, -longest * self._rate.per_second)
        self._note(source, level, now)
        return max(0.0, -level / self._rate.per_second)

    def _refill(self, source: str, now: float) -> float:
        level, last = self._level.pop(source, (self._rate.burst, now))
        return self._rate.refill(level, now - last)

    def _note(self, source: str, level: float, now: float) -> None:
        # Those who asked last stand last, so that the first is the one to forget.
        self._level[source] = (level, now)
        if len(self._level) > MAX_ADDRESSES:
            del self._level[next(iter(self._level))]


class AddressBuckets:
    """One bucket for each address, so that neighbours are apart, and a larger one for each IPv6 /64."""

    def __init__(self, rate: Rate) -> None:
        self._addresses = Buckets(rate)
        self._networks = Buckets(Rate(rate.burst * NEIGHBOURS, rate.per_second * NEIGHBOURS))

    def take(self, address: str, now: float) -> float:
        """Take one; the seconds to wait when the bucket of the address or of its network is empty, else 0."""
        own, network = _own_address(address), cached_network_of(address)
        wait = self._addresses.take(own, now)
        if wait or own == network:
            return wait
        return self._networks.take(network, now)

    def reserve(self, address: str, now: float, longest: float) -> float:
        """Take one that may not be there yet; see `Buckets.reserve`."""
        own, network = _own_address(address), cached_network_of(address)
        wait = self._addresses.reserve(own, now, longest)
        return wait if wait or own == network else self._networks.reserve(network, now, longest)


@lru_cache(maxsize=4096)
def _own_address(address: str) -> str:
    """An address as it is always written, without the zone."""
    return prefix_of(address, 32, 128)


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

    def wait(self, source: str, now: float, share: float = 0.0) -> float:
        """The seconds until there is something again, or a share of all; 0 while there is."""
        least = max(1.0, share * self._rate.burst)
        return max(0.0, least - self._look(source, now)[0]) / self._rate.per_second

    def share(self, source: str, now: float) -> float:
        """How much there is of what there can be at most; 1 if nothing was taken."""
        return self._look(source, now)[0] / self._rate.burst

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
