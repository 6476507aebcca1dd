# SPDX-License-Identifier: Apache-2.0
"""Reads the bodies of requests when they are wanted, no more of them than is allowed, and not for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from muster.service.edge.answers import Message, Receive

PACE_BYTES: Final = 64 << 10
PACE_S: Final = 10.0
"""The least speed of a body: so many bytes, or its end, each time it was waited for so long."""


class TooLarge(Exception):
    """There is more than allowed."""


class Unread(Exception):
    """The body cannot be read: the handler ends, and `Limits` answers."""


class Gone(Unread):
    """The caller went away before all of it was there."""


class Refused(Unread):
    """The body is not taken."""


class TooSlow(Exception):
    """It comes slower than allowed."""


class Paced:
    """A body that has to come with the least speed. Only the time counts in which it is waited for."""

    def __init__(self, receive: Receive, seconds: float = PACE_S) -> None:
        self._receive, self._seconds = receive, seconds
        self._left, self._missing = seconds, PACE_BYTES

    async def __call__(self) -> Message:
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            async with asyncio.timeout(self._left):
                message = await self._receive()
        except TimeoutError:
            raise TooSlow from None
        self._left -= loop.time() - began
        self._missing -= len(message.get("body", b""))
        if self._missing <= 0:
            self._left, self._missing = self._seconds, PACE_BYTES
        return message


async def read_body(
    receive: Receive, most: int, grow: Callable[[int], Awaitable[None]] | None = None
) -> bytes:
    """The whole body. ``grow`` is asked for room before more of it is read."""
    pieces, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        piece: bytes = message.get("body", b"")
        size += len(piece)
        if size > most:
            raise TooLarge
        if grow is not None:
            await grow(size)
        pieces.append(piece)
        if not message.get("more_body", False):
            return pieces[0] if len(pieces) == 1 else b"".join(pieces)


class WholeBody:
    """A body that is read as a whole when a handler asks for it, and not before.

    So a caller whom the handler refuses by the head of the request costs no memory.
    """

    def __init__(self, read: Callable[[], Awaitable[bytes]], receive: Receive) -> None:
        self._read, self._receive = read, receive
        self.is_read = False

    async def __call__(self) -> Message:
        if self.is_read:
            return await self._receive()
        body = await self._read()
        self.is_read = True
        return {"type": "http.request", "body": body, "more_body": False}


class Moved(Protocol):
    """Called with each piece of a body; says what is wrong with it."""

    def __call__(self, *, is_exceeded: bool = False, is_slow: bool = False) -> None: ...


class Counted:
    """Passes a body on as it comes. After too much of it, or too little, the caller counts as gone."""

    def __init__(self, receive: Receive, most: int, when_moving: Moved) -> None:
        self._receive = receive
        self._left = most
        self._when_moving = when_moving
        self.is_read = False

    async def __call__(self) -> Message:
        if self._left < 0:
            return {"type": "http.disconnect"}
        try:
            message = await self._receive()
        except TooSlow:
            self._left = -1
            self._when_moving(is_slow=True)
            return {"type": "http.disconnect"}
        self._left -= len(message.get("body", b""))
        self._when_moving(is_exceeded=self._left < 0)
        if self._left < 0:
            return {"type": "http.disconnect"}
        self.is_read = not message.get("more_body", False)
        return message
