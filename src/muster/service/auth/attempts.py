# SPDX-License-Identifier: Apache-2.0
"""Slows down those who guess: after a few failures from an address, each further one costs twice the time."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address
from typing import Final

FREE: Final = 3
"""Failures that cost nothing: people mistype."""
FIRST_DELAY_S: Final = 1.0
MAX_DELAY_S: Final = 900.0
FORGET_S: Final = 3600.0
MAX_ADDRESSES: Final = 4096
ALL: Final = "*"
"""All addresses together, for those who have many."""
FREE_FOR_ALL: Final = 50
MAX_DELAY_FOR_ALL_S: Final = 5.0
"""Somebody who guesses must not lock out the one who knows."""


class Attempts:
    """Who failed, how often, and when they may try again."""

    def __init__(self) -> None:
        self._failed: dict[str, tuple[int, float]] = {}

    def wait_s(self, address: str, now: float) -> float:
        """How long an address has to wait before its next attempt; 0 when it may try."""
        return max(self._wait_of(network_of(address), now), self._wait_of(ALL, now))

    def begin(self, address: str, now: float) -> None:
        """Count an attempt as failed until it is known better: many at once are then no way around."""
        for who in (network_of(address), ALL):
            count, last = self._failed.pop(who, (0, now))
            self._failed[who] = (1 if now - last > FORGET_S else count + 1, now)
        while len(self._failed) > MAX_ADDRESSES:
            del self._failed[next(each for each in self._failed if each != ALL)]

    def succeed(self, address: str) -> None:
        """Forget what an address did: it knows the secret."""
        self._failed.pop(network_of(address), None)
        count, last = self._failed.get(ALL, (0, 0.0))
        self._failed[ALL] = (max(0, count - 1), last)

    def _wait_of(self, who: str, now: float) -> float:
        count, last = self._failed.get(who, (0, now))
        free, most = (FREE_FOR_ALL, MAX_DELAY_FOR_ALL_S) if who == ALL else (FREE, MAX_DELAY_S)
        if count < free:
            return 0.0
        delay = min(most, FIRST_DELAY_S * 2.0 ** min(count - free, 32))
        # A clock that was set back must not keep anybody out for longer.
        return min(delay, max(0.0, last + delay - now))


def network_of(address: str) -> str:
    """What somebody with one line has: a single address of IPv4, a whole /64 of IPv6."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address[:64]
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped:
        return str(parsed.ipv4_mapped)
    return str(IPv6Address(int(parsed) >> 64 << 64))
