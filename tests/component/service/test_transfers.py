# SPDX-License-Identifier: Apache-2.0
"""Downloads of media beside the interface count as transfers while they are under way."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from muster.service.edge.connections import CONNECTION_KEY, ROOMS
from muster.service.media.asgi import Embedded
from muster.service.media.desk import Asked, Desk, Reply
from muster.serving.connections import Connections
from muster.serving.head import Head


class Shelf:
    """Has one medium of some size."""

    def __init__(self, size: int) -> None:
        self._size = size

    def answer(self, _asked: Asked) -> Reply:
        return Reply(Head(200, (), self._size), (bytes(self._size),))


@pytest.mark.parametrize(("size", "kind"), [(1 << 20, "transfers"), (1 << 10, "strangers")])
def test_connection_is_among_the_transfers_while_a_medium_is_sent(size: int, kind: str) -> None:
    async def scene() -> None:
        connections = Connections(lambda: 0.0, ROOMS)
        connection = connections.open("192.0.2.1")
        assert connection is not None
        seen, count = set(), 0

        async def send(message: Any) -> None:
            nonlocal count
            if body := message.get("body"):
                seen.add(connection.kind)
                count += len(body)

        async def receive() -> Any:
            await asyncio.Event().wait()

        embedded = Embedded(cast(Desk, Shelf(size)), 60.0)
        scope = {"method": "GET", "path": "/boot-artifacts/a/b/vmlinuz", "headers": []}
        await embedded({**scope, "state": {CONNECTION_KEY: connection}}, receive, send)
        embedded.close()
        assert (seen, count) == ({kind}, size)
        assert (connection.kind, connections.count("transfers")) == ("strangers", 0)

    asyncio.run(scene())
