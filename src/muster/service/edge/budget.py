# SPDX-License-Identifier: Apache-2.0
"""A bounded amount that requests share, such as bytes of bodies in memory; without room, requests wait.

Each holder has a share. Those that wait for room are served in turns, one request of each holder. A holder
that used up its share waits for itself alone.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

from muster.serving.connections import Room

MAX_WAITING: Final = 256
"""Requests of one holder."""


class NoRoom(Exception):
    """Too many requests of this holder wait already."""


class Budget:
    """How much is in use, by holder and in total."""

    def __init__(self, room: Room, most_waiting: int = MAX_WAITING) -> None:
        self._room = room
        self._most_waiting = most_waiting
        self._used: dict[str, int] = {}
        self._queues: dict[str, deque[tuple[asyncio.Future[None], int]]] = {}
        self._turns: dict[str, None] = {}
        """Holders whose next request fits into their share, in the order in which they are served."""
        self.total = 0

    @property
    def is_full(self) -> bool:
        """Whether there is no room at all."""
        return self.total >= self._room.all

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return sum(len(queue) for queue in self._queues.values())

    async def take(self, holder: str, amount: int) -> int:
        """Wait until there is room; how much was taken, to be given back. NoRoom when too many wait."""
        amount = min(amount, self._room.each)
        if not self._turns and holder not in self._queues and self._fits(holder, amount):
            self._add(holder, amount)
            return amount
        queue = self._queues.setdefault(holder, deque())
        if len(queue) >= self._most_waiting:
            raise NoRoom
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue.append((place, amount))
        self._line_up(holder)
        self._serve()
        try:
            await place
        except asyncio.CancelledError:
            if place.cancelled():  # It was not served, even if it left the queue.
                self._leave(holder, place, amount)
            else:
                self.give_back(holder, amount)
            raise
        return amount

    def give_back(self, holder: str, amount: int) -> None:
        """What was taken is free again."""
        self._add(holder, -amount)
        self._line_up(holder)
        self._serve()

    def _serve(self) -> None:
        """Give room to holders in turns, as long as the next one fits."""
        while self._turns:
            holder = next(iter(self._turns))
            place, amount = self._queues[holder][0]
            if self.total + amount > self._room.all:
                return
            del self._turns[holder]
            self._queues[holder].popleft()
            if not place.done():
                self._add(holder, amount)
                place.set_result(None)
            self._line_up(holder)

    def _line_up(self, holder: str) -> None:
        """A holder with a request that fits into its share waits for its turn."""
        queue = self._queues.get(holder)
        if queue is None:
            return
        if not queue:
            del self._queues[holder]
        elif self._used.get(holder, 0) + queue[0][1] <= self._room.each:
            self._turns.setdefault(holder)

    def _leave(self, holder: str, place: asyncio.Future[None], amount: int) -> None:
        """A request that waited went away."""
        queue = self._queues.get(holder)
        if queue is not None and (place, amount) in queue:
            queue.remove((place, amount))
            self._turns.pop(holder, None)
            self._line_up(holder)
        self._serve()

    def _fits(self, holder: str, amount: int) -> bool:
        return self.total + amount <= self._room.all and self._used.get(holder, 0) + amount <= self._room.each

    def _add(self, holder: str, amount: int) -> None:
        used = self._used.pop(holder, 0) + amount
        if used:
            self._used[holder] = used
        self.total += amount
