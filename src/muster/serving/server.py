# SPDX-License-Identifier: Apache-2.0
"""A server of aiohttp with the limits that ours have; whoever starts it says when it ends.

`muster.serving.connections` says which connection makes room for another one. A transfer of many gigabytes
may take hours; a client that sends no request, or takes nothing of an answer, is closed after some time.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import field
from functools import partial
from typing import Any, Final, Protocol

from aiohttp import web

from muster.frozen import dataclass
from muster.serving.accept import accept_all, begin
from muster.serving.connections import Connection, Connections, Room
from muster.serving.quiet_log import QuietLog

_LONGEST_LINE: Final = 8190
_MOST_HEADERS: Final = 100
_LINGERING_S: Final = 2.0
"""For bodies of requests that were refused already."""
_END_S: Final = 0.1
"""For handlers whose connections are closed."""
ROOMS: Final[Mapping[str, Room]] = {
    "strangers": Room(each=512, all=2048),
    "transfers": Room(each=1024, all=2048),
}
"""Hundreds of hosts may share an address. A transfer may take four file descriptors."""


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
    rooms: Mapping[str, Room] = field(default_factory=lambda: ROOMS)


class _DebugLog(logging.LoggerAdapter[logging.Logger]):
    """What aiohttp says of clients that do not speak HTTP is of no interest to most."""

    def exception(self, msg: object, *args: object, **_more: Any) -> None:
        self.logger.debug(msg, *args)


class _Handler(web.RequestHandler):
    """A connection that is counted, and that ends when its first request does not come."""

    connection: Connection | None = None
    first_s = 0.0
    """How long the first request may take; aiohttp looks only at those after it."""
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._timer = asyncio.get_running_loop().call_later(self.first_s, self.abort)

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        self._stop_timer()
        if self.connection is not None:
            self.connection.ended()

    def begin_request(self) -> None:
        """A request is there."""
        self._stop_timer()
        if self.connection is not None:
            self.connection.touch()

    def abort(self) -> None:
        """End it at once."""
        if self.transport is not None:
            self.transport.abort()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _Server(web.Server):
    """Counts its connections from when they are accepted until they are closed."""

    def __init__(self, desk: Desk, place: Place, logger: logging.Logger) -> None:
        self._options: dict[str, Any] = {
            "logger": _DebugLog(logger, {}),
            "access_log": None,
            "keepalive_timeout": place.patience_s,
            "max_line_size": _LONGEST_LINE,
            "max_field_size": _LONGEST_LINE,
            "max_headers": _MOST_HEADERS,
            "lingering_time": _LINGERING_S,
        }
        super().__init__(self._answer, **self._options)
        self._desk, self._place, self._logger = desk, place, logger
        self._quiet = QuietLog(logger, asyncio.get_running_loop().time)
        self._counted = Connections(asyncio.get_running_loop().time, place.rooms)
        self._starting: set[asyncio.Future[bool]] = set()

    def take(self, accepted: socket.socket, address: str) -> None:
        """Serve a new connection, if there is room for it."""
        connection = self._counted.open(address)
        if connection is None:
            self._logger.debug("no room for another connection from %s", address)
            accepted.close()
            return
        handler = _Handler(self, loop=asyncio.get_running_loop(), **self._options)
        handler.connection, handler.first_s = connection, self._place.patience_s
        task = asyncio.ensure_future(begin(accepted, handler, self._place.tls))
        connection.close = task.cancel
        self._starting.add(task)
        task.add_done_callback(partial(self._begun, accepted, handler, connection))

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        assert isinstance(request.protocol, _Handler)
        request.protocol.begin_request()
        return await self._desk(request)

    def complain(self, error: OSError) -> None:
        """Nothing can be accepted now."""
        self._quiet.write(logging.ERROR, "", "cannot accept connections: %s", error.strerror)

    async def end(self) -> None:
        """Close all connections."""
        for task in [*self._starting]:
            await _end(task)
        for handler in self.connections:
            if handler.transport is not None:
                handler.transport.abort()
        await asyncio.sleep(0)
        await self.shutdown(_END_S)

    def _begun(
        self, accepted: socket.socket, handler: _Handler, connection: Connection, task: asyncio.Future[bool]
    ) -> None:
        self._starting.discard(task)
        if task.cancelled() or task.exception() is not None or not task.result():
            accepted.close()
            connection.ended()
        elif connection.is_open:
            connection.close = handler.abort
        else:
            handler.abort()


@contextlib.asynccontextmanager
async def open_server(
    desk: Desk, place: Place, logger: logging.Logger, let_end: Callable[[], Awaitable[None]]
) -> AsyncIterator[None]:
    """Serve until the body ends; then no more requests come in, and ``let_end`` waits for those under way."""
    server = _Server(desk, place, logger)
    accepting = asyncio.ensure_future(accept_all(place.listening, server.take, server.complain))
    try:
        yield
        await _end(accepting)
        server.pre_shutdown()
        await let_end()
    finally:
        await _end(accepting)
        await server.end()


async def _end(task: asyncio.Future[Any]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
