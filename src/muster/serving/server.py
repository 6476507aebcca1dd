# SPDX-License-Identifier: Apache-2.0
"""A server of aiohttp with the limits that ours have; whoever starts it says when it ends."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final, Protocol

from aiohttp import web

from muster.frozen import dataclass

_LONGEST_LINE: Final = 8190
_MOST_HEADERS: Final = 100
_LINGERING_S: Final = 2.0
"""For bodies of requests that were refused already."""


class Desk(Protocol):
    """Answers requests."""

    idle: asyncio.Event
    """Set while nobody is being answered."""

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse: ...


@dataclass(frozen=True)
class Place:
    """Where and how a server listens."""

    listening: socket.socket
    patience_s: float
    """How long a client may send no request."""
    tls: ssl.SSLContext | None = None


class _QuietLog(logging.LoggerAdapter[logging.Logger]):
    """What aiohttp says of clients that do not speak HTTP is of no interest to most."""

    def exception(self, msg: object, *args: object, **_more: Any) -> None:
        self.logger.debug(msg, *args)


@contextlib.asynccontextmanager
async def open_server(
    desk: Desk, place: Place, logger: logging.Logger, let_end: Callable[[], Awaitable[None]]
) -> AsyncIterator[None]:
    """Serve until the body ends; then no more requests come in, and ``let_end`` waits for those under way."""
    server = web.Server(
        desk,
        logger=_QuietLog(logger, {}),
        access_log=None,
        keepalive_timeout=place.patience_s,
        max_line_size=_LONGEST_LINE,
        max_field_size=_LONGEST_LINE,
        max_headers=_MOST_HEADERS,
        lingering_time=_LINGERING_S,
    )
    runner = web.ServerRunner(server, shutdown_timeout=0.1)
    await runner.setup()
    site = web.SockSite(runner, place.listening, ssl_context=place.tls)
    try:
        await site.start()
        yield
        await site.stop()
        server.pre_shutdown()
        await let_end()
    finally:
        for connection in server.connections:
            if connection.transport is not None:
                connection.transport.abort()
        await runner.cleanup()
