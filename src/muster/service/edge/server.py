# SPDX-License-Identifier: Apache-2.0
"""The HTTP server: accepts connections as far as there is room, and hands them to uvicorn's protocol."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import socket
import ssl
from collections import deque
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any, Final, cast

import uvicorn

from muster.service.edge.protocol import GuardedProtocol, server_settings
from muster.serving.accept import accept_all, begin
from muster.serving.connections import Connection, Connections
from muster.serving.quiet_log import QuietLog

DRAIN_S: Final = 10.0
_LOST_WRITES: Final = ("SSL connection is closed", "socket.send() raised exception.")
"""What event loops log of each piece of an answer whose client went away, without a limit."""
_BATCH: Final = 32
"""Connections that are accepted before others have their turn."""
_READ_AHEAD: Final = 64 << 10
"""Bytes that the kernel takes from a client before they are read; less than by default."""


@contextlib.asynccontextmanager
async def serve(
    app: Any,
    listening: socket.socket,
    connections: Connections,
    context: ssl.SSLContext | None = None,
) -> AsyncIterator[None]:
    """Serve an application until the body ends; requests under way get some time to end."""
    config = uvicorn.Config(
        app,
        loop="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        timeout_graceful_shutdown=int(DRAIN_S),
        ssl_context_factory=None if context is None else lambda *_: context,
        **server_settings(),
    )
    logging.getLogger("asyncio").addFilter(_is_no_lost_write)
    server = Server(config, connections)
    task = asyncio.ensure_future(server.serve([listening]))
    up = asyncio.ensure_future(server.up.wait())
    try:
        await asyncio.wait({task, up}, return_when=asyncio.FIRST_COMPLETED)
        yield
    finally:
        up.cancel()
        server.should_exit = True
        await task


def _is_no_lost_write(record: logging.LogRecord) -> bool:
    return record.msg not in _LOST_WRITES


class Server(uvicorn.Server):
    """Uvicorn's server with an accept loop that counts connections before anything is spent on them."""

    def __init__(self, config: uvicorn.Config, connections: Connections) -> None:
        super().__init__(config)
        self.up = asyncio.Event()
        self._connections = connections

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await self.lifespan.startup()
        listeners = [
            Listener(each, self._make_protocol, self._connections, self.config.ssl) for each in sockets or ()
        ]
        # It only ever closes them, and waits until they are closed.
        self.servers = cast("list[asyncio.base_events.Server]", listeners)
        self.started = True
        self.up.set()

    def _make_protocol(self, connection: Connection) -> GuardedProtocol:
        made: GuardedProtocol = self.config.http_protocol_class(  # type: ignore[call-arg, assignment]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        made.connection = connection
        return made

    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        """Signals are for the program to catch."""
        yield


class Listener:
    """Accepts connections on one socket, and begins TLS with one of each network in turns.

    The first step of TLS costs half a millisecond: without turns, a newcomer would wait for all of a crowd.
    """

    def __init__(
        self,
        listening: socket.socket,
        make_protocol: Callable[[Connection], GuardedProtocol],
        connections: Connections,
        context: ssl.SSLContext | None,
    ) -> None:
        self._make_protocol, self._connections, self._context = make_protocol, connections, context
        self._starting: set[asyncio.Task[bool]] = set()
        self._accepted: dict[str, deque[tuple[socket.socket, Connection]]] = {}
        """Connections that were not begun yet, by network."""
        self._has_accepted = asyncio.Event()
        self._quiet = QuietLog(logging.getLogger("muster.service"), asyncio.get_running_loop().time)
        # Accepted sockets have it from this one.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _READ_AHEAD)
        accepting = accept_all(listening.dup(), self._open, self._complain, batch=_BATCH)
        self._tasks = asyncio.ensure_future(accepting), asyncio.ensure_future(self._begin_in_turns())

    def close(self) -> None:
        """Accept no more; connections that are open stay."""
        for each in (*self._tasks, *self._starting):
            each.cancel()
        for accepted, connection in itertools.chain(*self._accepted.values()):
            connection.ended()
            accepted.close()
        self._accepted.clear()

    async def wait_closed(self) -> None:
        """Wait until nothing is accepted any more."""
        await asyncio.gather(*self._tasks, *self._starting, return_exceptions=True)

    def _complain(self, error: OSError) -> None:
        self._quiet.note("", "cannot accept connections: %s", error.strerror)

    def _open(self, accepted: socket.socket, address: str) -> None:
        connection = self._connections.open(address)
        if connection is None:
            accepted.close()
            return
        connection.close = accepted.close
        self._accepted.setdefault(connection.network, deque()).append((accepted, connection))
        self._has_accepted.set()

    async def _begin_in_turns(self) -> None:
        while True:
            if not self._accepted:
                self._has_accepted.clear()
                await self._has_accepted.wait()
            network = next(iter(self._accepted))
            waiting = self._accepted.pop(network)
            accepted, connection = waiting.popleft()
            if waiting:
                self._accepted[network] = waiting
            if connection.is_open:  # It was not closed to make room.
                protocol = self._make_protocol(connection)
                task = asyncio.create_task(begin(accepted, protocol, self._context))
                connection.close = partial(_cancel, task)
                self._starting.add(task)
                task.add_done_callback(partial(self._begun, accepted, connection, protocol))
                await asyncio.sleep(0)

    def _begun(
        self,
        accepted: socket.socket,
        connection: Connection,
        protocol: GuardedProtocol,
        task: asyncio.Task[bool],
    ) -> None:
        """TLS began, or not; a task that was cancelled may not even have run."""
        self._starting.discard(task)
        if not protocol.is_made:
            connection.ended()
            protocol.forget()
            accepted.close()


def _cancel(task: asyncio.Task[bool]) -> None:
    task.cancel()
