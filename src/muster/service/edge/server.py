# SPDX-License-Identifier: Apache-2.0
"""The HTTP server: accepts connections as far as there is room, and hands them to uvicorn's protocol."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any, Final, cast

import uvicorn

from muster.service.edge.connections import Connection, Connections
from muster.service.edge.protocol import GuardedProtocol, server_settings
from muster.service.edge.quiet_log import QuietLog
from muster.serving.accept import accept_all, begin

DRAIN_S: Final = 10.0


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
    """Accepts connections on one socket."""

    def __init__(
        self,
        listening: socket.socket,
        make_protocol: Callable[[Connection], GuardedProtocol],
        connections: Connections,
        context: ssl.SSLContext | None,
    ) -> None:
        self._make_protocol, self._connections, self._context = make_protocol, connections, context
        self._starting: set[asyncio.Task[None]] = set()
        self._quiet = QuietLog(logging.getLogger("muster.service"), asyncio.get_running_loop().time)
        self._task = asyncio.ensure_future(accept_all(listening.dup(), self._open, self._complain))

    def close(self) -> None:
        """Accept no more; connections that are open stay."""
        self._task.cancel()
        for each in self._starting:
            each.cancel()

    async def wait_closed(self) -> None:
        """Wait until nothing is accepted any more."""
        await asyncio.gather(self._task, *self._starting, return_exceptions=True)

    def _complain(self, error: OSError) -> None:
        self._quiet.note("", "cannot accept connections: %s", error.strerror)

    def _open(self, accepted: socket.socket, address: str) -> None:
        connection = self._connections.open(address)
        if connection is None:
            accepted.close()
            return
        task = asyncio.ensure_future(self._begin(accepted, connection))
        connection.close = partial(_cancel, task)
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    async def _begin(self, accepted: socket.socket, connection: Connection) -> None:
        protocol = self._make_protocol(connection)
        try:
            await begin(accepted, protocol, self._context)
        finally:
            if not protocol.is_made:
                connection.ended()
                protocol.forget()
                accepted.close()


def _cancel(task: asyncio.Future[None]) -> None:
    task.cancel()
