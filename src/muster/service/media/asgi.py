# SPDX-License-Identifier: Apache-2.0
"""The desk of the media server as an application of ASGI, to be mounted beside the interface."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qsl

from muster.service.edge.connections import CONNECTION_KEY
from muster.service.media.desk import Asked, Desk, Reply
from muster.serving.sending import ClientGone, Means, Rest, count_bytes, send_copied

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

_logger: Final = logging.getLogger(__name__)
_READERS: Final = 8
_LARGE: Final = 64 << 10
"""Bytes of an answer that is a transfer: its connection leaves those of strangers meanwhile."""


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
        gone = asyncio.ensure_future(_until_gone(receive))
        try:
            with _transfer(scope, reply):
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


def _transfer(scope: Message, reply: Reply) -> contextlib.AbstractContextManager[None]:
    connection = scope.get("state", {}).get(CONNECTION_KEY)
    is_large = sum(map(count_bytes, reply.parts)) > _LARGE
    return connection.transfer() if connection is not None and is_large else contextlib.nullcontext()


def _read(scope: Message) -> Asked:
    fields = scope["headers"]
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in fields}
    path = str(scope["path"]).removeprefix(scope.get("root_path", ""))
    query = dict(parse_qsl(scope.get("query_string", b"").decode("latin-1")))
    return Asked(scope["method"], path, query, headers)


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
