# SPDX-License-Identifier: Apache-2.0
"""Reads the bodies of requests, and no more of them than is allowed."""

from __future__ import annotations

from collections.abc import Callable

from muster.service.edge.answers import Message, Receive


class TooLarge(Exception):
    """There is more than allowed."""


class Gone(Exception):
    """The caller went away before all of it was there."""


async def read_body(receive: Receive, most: int) -> bytes:
    """The whole body."""
    pieces, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        piece: bytes = message.get("body", b"")
        size += len(piece)
        if size > most:
            raise TooLarge
        pieces.append(piece)
        if not message.get("more_body", False):
            return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def hand_on(body: bytes, receive: Receive) -> Receive:
    """Gives a body that was read already, and then what else the server has to say."""
    given = False

    async def give() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return give


class Counted:
    """Passes a body on as it comes. After too much of it the caller counts as gone."""

    def __init__(self, receive: Receive, most: int, when_moving: Callable[[], None]) -> None:
        self._receive = receive
        self._left = most
        self._when_moving = when_moving
        self.is_exceeded = False

    async def __call__(self) -> Message:
        if self.is_exceeded:
            return {"type": "http.disconnect"}
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        self._when_moving()
        if self._left < 0:
            self.is_exceeded = True
            return {"type": "http.disconnect"}
        return message
