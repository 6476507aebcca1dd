# SPDX-License-Identifier: Apache-2.0
"""A bounded amount that requests share, such as bytes of bodies in memory; without room, requests wait."""

from __future__ import annotations

import asyncio
from typing import Final

from muster.service.edge.connections import Room

MAX_WAITING: Final = 256


class NoRoom(Exception):
    """Too many wait already."""


class Budget:
    """How much is in use, by network and in total.

    Requests are served in their order, but a network that has used up its share does not hold up others.
    """

    def __init__(self, room: Room, most_waiting: int = MAX_WAITING) -> None:
        self._room = room
        self._most_waiting = most_waiting
        self._used: dict[str, int] = {}
        self._waiting: dict[asyncio.Future[None], tuple[str, int]] = {}
        self.total = 0

    async def take(self, network: str, amount: int) -> int:
        """Wait until there is room; how much was taken, to be given back. NoRoom when too many wait."""
        amount = min(amount, self._room.each)
        if not self._waiting and self._fits(network, amount):
            self._add(network, amount)
            return amount
        if len(self._waiting) >= self._most_waiting:
            raise NoRoom
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[place] = (network, amount)
        self._serve()
        try:
            await place
        except asyncio.CancelledError:
            if place.cancelled():  # It was not served, even if it left the queue.
                self._waiting.pop(place, None)
                self._serve()
            else:
                self.give_back(network, amount)
            raise
        return amount

    def give_back(self, network: str, amount: int) -> None:
        """What was taken is free again."""
        self._add(network, -amount)
        self._serve()

    def _serve(self) -> None:
        """Give room to those who wait, in their order."""
        for place, (network, amount) in list(self._waiting.items()):
            if self.total + amount > self._room.all:
                return
            if self._fits(network, amount):
                del self._waiting[place]
                if not place.done():
                    self._add(network, amount)
                    place.set_result(None)

    def _fits(self, network: str, amount: int) -> bool:
        return (
            self.total + amount <= self._room.all and self._used.get(network, 0) + amount <= self._room.each
        )

    def _add(self, network: str, amount: int) -> None:
        used = self._used.pop(network, 0) + amount
        if used:
            self._used[network] = used
        self.total += amount
