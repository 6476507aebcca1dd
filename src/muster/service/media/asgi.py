# SPDX-License-Identifier: Apache-2.0
"""The desk of the media server as an application of ASGI, to be mounted beside the interface."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qsl

from muster.service.edge.connections import CONNECTION_KEY
from muster.service.media.desk import Asked, Desk, Reply
from muster.service.media.paths import parse_target
from muster.serving.sending import ClientGone, Means, Rest, send_copied

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

_logger: Final = logging.getLogger(__name__)
_READERS: Final = 8
_REFUSED: Final = 400


class Embedded:
    """Sends media through the server that also encrypts."""

    def __init__(self, desk: Desk, patience_s: float) -> None:
        self._desk = desk
        self._readers = ThreadPoolExecutor(_READERS, "media-read")
        self._means = Means(self._readers, patience_s)

    def close(self) -> None:
        self._readers.shutdown(cancel_futures=True)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        asked = _read(scope)
        loop = asyncio.get_running_loop()
        reply = await loop.run_in_executor(self._readers, self._desk.answer, asked)
        if reply.head.status < _REFUSED and _is_signed(asked):
            _note_signed(scope)
        gone = asyncio.ensure_future(_until_gone(receive))
        try:
            await self._send(reply, send, gone, has_body=asked.method != "HEAD")
        except ClientGone as error:
            _logger.debug("a client went away: %s", error)
        finally:
            gone.cancel()
            reply.close()

    async def _send(self, reply: Reply, send: Send, gone: asyncio.Future[None], *, has_body: bool) -> None:
        head = reply.head
        fields = [(name.lower().encode(), value.encode("latin-1")) for name, value in head.headers]
        if head.status != 304:
            fields.append((b"content-length", str(head.length).encode()))
        await send({"type": "http.response.start", "status": head.status, "headers": fields})

        async def write(chunk: bytes) -> None:
            # Servers take what is sent to nobody, and say nothing.
            if gone.done():
                raise ClientGone("it closed the connection")
            await send({"type": "http.response.body", "body": chunk, "more_body": True})

        await send_copied(write, Rest(reply.parts if has_body else ()), self._means)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _is_signed(asked: Asked) -> bool:
    """Whether an address that was answered is a signed one; some pieces of media are for everybody."""
    target = parse_target(asked.path, asked.query)
    return target is not None and not (target.kind is not None and target.kind.is_public)


def _note_signed(scope: Message) -> None:
    """The connection of a request with a good address counts among those of hosts, if there is room."""
    connection = scope.get("state", {}).get(CONNECTION_KEY)
    if connection is not None:
        connection.belongs_to("hosts")


def _read(scope: Message) -> Asked:
    fields = scope["headers"]
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in fields}
    path = str(scope["path"]).removeprefix(scope.get("root_path", ""))
    query = dict(parse_qsl(scope.get("query_string", b"").decode("latin-1")))
    return Asked(scope["method"], path, query, headers)


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
