# SPDX-License-Identifier: Apache-2.0
"""A server of aiohttp with the limits that ours have; whoever starts it says when it ends.

It refuses connections for which there is no room. Those that are open stay: an image of many gigabytes may
take hours, and who sends or takes nothing is closed after some time anyway.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from ipaddress import IPv6Address, ip_address
from typing import Any, Final, Protocol

from aiohttp import web

from muster.frozen import dataclass
from muster.serving.accept import accept_all, begin

_LONGEST_LINE: Final = 8190
_MOST_HEADERS: Final = 100
_LINGERING_S: Final = 2.0
"""For bodies of requests that were refused already."""
_END_S: Final = 0.1
"""For handlers whose connections are closed."""


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
    most: int = 2048
    """Connections at the same time. A transfer may take four file descriptors."""
    most_each: int = 512
    """The same of one network: hundreds of hosts may share an address."""


class _QuietLog(logging.LoggerAdapter[logging.Logger]):
    """What aiohttp says of clients that do not speak HTTP is of no interest to most."""

    def exception(self, msg: object, *args: object, **_more: Any) -> None:
        self.logger.debug(msg, *args)


class _Server(web.Server):
    """Counts its connections, by network and in all, from when they are accepted until they are closed."""

    def __init__(self, desk: Desk, place: Place, logger: logging.Logger) -> None:
        super().__init__(
            desk,
            logger=_QuietLog(logger, {}),
            access_log=None,
            keepalive_timeout=place.patience_s,
            max_line_size=_LONGEST_LINE,
            max_field_size=_LONGEST_LINE,
            max_headers=_MOST_HEADERS,
            lingering_time=_LINGERING_S,
        )
        self._place, self._logger = place, logger
        self._networks: dict[web.RequestHandler, str] = {}
        self._counts: Counter[str] = Counter()
        self._starting: set[asyncio.Future[bool]] = set()

    def take(self, accepted: socket.socket, address: str) -> None:
        """Serve a new connection, if there is room for it."""
        network = _network_of(address)
        if len(self._networks) >= self._place.most or self._counts[network] >= self._place.most_each:
            self._logger.debug("no room for another connection from %s", address)
            accepted.close()
            return
        handler = self()
        self._networks[handler] = network
        self._counts[network] += 1
        task = asyncio.ensure_future(begin(accepted, handler, self._place.tls))
        self._starting.add(task)
        task.add_done_callback(partial(self._begun, accepted, handler))

    def complain(self, error: OSError) -> None:
        """Nothing can be accepted now."""
        self._logger.error("cannot accept connections: %s", error.strerror)

    def connection_lost(self, handler: web.RequestHandler, exc: BaseException | None = None) -> None:
        super().connection_lost(handler, exc)
        self._forget(handler)

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
        self, accepted: socket.socket, handler: web.RequestHandler, task: asyncio.Future[bool]
    ) -> None:
        self._starting.discard(task)
        if task.cancelled() or task.exception() is not None or not task.result():
            accepted.close()
            self._forget(handler)

    def _forget(self, handler: web.RequestHandler) -> None:
        network = self._networks.pop(handler, None)
        if network is not None:
            self._counts[network] -= 1
            if not self._counts[network]:
                del self._counts[network]


def _network_of(address: str) -> str:
    """What somebody with one line has: a single address of IPv4, a whole /64 of IPv6."""
    found = ip_address(address.partition("%")[0])
    if not isinstance(found, IPv6Address):
        return address
    return str(found.ipv4_mapped or IPv6Address(int(found) >> 64 << 64))


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
