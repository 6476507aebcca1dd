# SPDX-License-Identifier: Apache-2.0
"""Delays for those who guess passwords, and a fair queue for the checks.

After a few failures from an address, each further one costs twice the time. There is no limit that all
addresses share: strangers could use it up and keep the owner out. Guessing from many addresses is hopeless
for another reason: passwords are checked one at a time. Codes need neither: they have 50 bits and are
checked at once, so the owner can always log in with one.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from typing import Final

from muster.serving.accept import network_of, prefix_of

FREE: Final = 3
"""Failures that cost nothing: people mistype."""
FIRST_DELAY_S: Final = 1.0
MAX_DELAY_S: Final = 900.0
FORGET_S: Final = 3600.0
MAX_ADDRESSES: Final = 16_384
MAX_WAITING: Final = 64
"""Password checks that wait for their turn; a check takes about 50 ms."""
MAX_KNOWN: Final = 256
_KNOWN: Final = "known"
_REGION_BITS_4: Final = 16
_REGION_BITS_6: Final = 48


class Attempts:
    """Which networks failed, how often, and when they may try again."""

    def __init__(self) -> None:
        self._failed: dict[str, tuple[int, float]] = {}
        self._known: dict[str, None] = {}

    def wait_s(self, address: str, now: float) -> float:
        """How long an address has to wait before its next attempt; 0 when it may try."""
        count, last = self._failed.get(network_of(address), (0, now))
        if count < FREE:
            return 0.0
        delay = min(MAX_DELAY_S, FIRST_DELAY_S * 2.0 ** min(count - FREE, 32))
        # A clock that was set back must not keep anybody out for longer.
        return min(delay, max(0.0, last + delay - now))

    def begin(self, address: str, now: float) -> None:
        """Count an attempt as failed until the result is known: many at once are then no way around."""
        network = network_of(address)
        count, last = self._failed.pop(network, (0, now))
        self._failed[network] = (1 if now - last > FORGET_S else count + 1, now)
        while len(self._failed) > MAX_ADDRESSES:
            del self._failed[next(iter(self._failed))]

    def withdraw(self, address: str) -> None:
        """An attempt was not checked after all, so it does not count."""
        network = network_of(address)
        count, last = self._failed.pop(network, (0, 0.0))
        if count > 1:
            self._failed[network] = (count - 1, last)

    def succeed(self, address: str) -> None:
        """Forget the failures of an address: it knows the secret."""
        network = network_of(address)
        self._failed.pop(network, None)
        self._known.pop(network, None)
        self._known[network] = None
        if len(self._known) > MAX_KNOWN:
            del self._known[next(iter(self._known))]

    def is_known(self, address: str) -> bool:
        """Whether a login from there has succeeded before."""
        return network_of(address) in self._known


class Turns:
    """One at a time, fair between regions of the network, with a bounded number of those who wait.

    The regions take turns, so one address is served soon although thousands of another region wait. When
    the queue is full, the most crowded region loses its newest entry, but never its only one. Networks that
    logged in before go first and are not dropped.
    """

    def __init__(self, most: int = MAX_WAITING) -> None:
        self._most = most
        self._is_busy = False
        self._queues: OrderedDict[str, deque[asyncio.Future[bool]]] = OrderedDict()
        self._count = 0

    async def wait(self, address: str, *, is_known: bool = False) -> bool:
        """Wait for the turn: True when it has come (then `end` it), False when there is no room."""
        if not self._is_busy:
            self._is_busy = True
            return True
        region = _KNOWN if is_known else region_of(address)
        if self._count >= self._most and not self._make_room(region):
            return False
        place: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(region, deque()).append(place)
        self._count += 1
        self._put_known_first()
        try:
            return await place
        except asyncio.CancelledError:
            self._leave(region, place)
            raise

    def end(self) -> None:
        """The turn is over; the next one begins."""
        while self._queues:
            region, queue = self._queues.popitem(last=False)
            place = queue.popleft()
            self._count -= 1
            if queue:
                self._queues[region] = queue
                self._put_known_first()
            if not place.done():
                place.set_result(True)
                return
        self._is_busy = False

    def _make_room(self, region: str) -> bool:
        """Drop the newest entry of the most crowded region, if that has more entries than the newcomer's."""
        if region == _KNOWN:
            return self._length(_KNOWN) < self._most
        crowded = max((each for each in self._queues if each != _KNOWN), key=self._length, default=region)
        if self._length(crowded) <= max(1, self._length(region)):
            return False
        place = self._queues[crowded].pop()
        self._count -= 1
        if not place.done():
            place.set_result(False)
        return True

    def _put_known_first(self) -> None:
        if _KNOWN in self._queues:
            self._queues.move_to_end(_KNOWN, last=False)

    def _length(self, region: str) -> int:
        return len(self._queues.get(region, ()))

    def _leave(self, region: str, place: asyncio.Future[bool]) -> None:
        """Who waited went away; if it was their turn already, the next one has it."""
        if place.done() and not place.cancelled():
            if place.result():
                self.end()
            return
        queue = self._queues.get(region)
        if queue is not None and place in queue:
            queue.remove(place)
            self._count -= 1
            if not queue:
                del self._queues[region]


def region_of(address: str) -> str:
    """The neighbourhood of an address: what one attacker with many addresses most likely has."""
    return prefix_of(address, _REGION_BITS_4, _REGION_BITS_6)
