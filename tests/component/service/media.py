# SPDX-License-Identifier: Apache-2.0
"""Servers of media: in a thread of the test, on a free port."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from muster.service.media.desk import Desk
from muster.service.media.server import serve_media
from muster.serving.server import Place

DEADLINE_S = 60.0
Loop = Callable[[], asyncio.AbstractEventLoop]


@dataclass(frozen=True)
class Got:
    """An answer."""

    status: int
    headers: dict[str, str]
    """By names in lower case."""
    body: bytes


@dataclass(frozen=True)
class Serving:
    """A server that runs."""

    port: int
    trust: ssl.SSLContext | None = None

    def connect(self) -> http.client.HTTPConnection:
        if self.trust is None:
            return http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=DEADLINE_S, context=self.trust)

    def ask(self, path: str, method: str = "GET", **headers: str) -> Got:
        """Ask once, over a connection that is closed then."""
        with contextlib.closing(self.connect()) as connection:
            return ask(connection, path, method, **headers)

    def begin(self, path: str) -> socket.socket:
        """Ask for something, and take nothing of it yet."""
        client = socket.socket()
        client.settimeout(DEADLINE_S)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", self.port))
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        assert client.recv(8, socket.MSG_PEEK)
        return client


def ask(connection: http.client.HTTPConnection, path: str, method: str = "GET", **headers: str) -> Got:
    connection.request(method, path, headers={name.replace("_", "-"): text for name, text in headers.items()})
    response = connection.getresponse()
    named = {name.lower(): value for name, value in response.getheaders()}
    return Got(response.status, named, response.read())


@contextlib.contextmanager
def start_media(
    desk: Desk,
    *,
    loop: Loop = asyncio.new_event_loop,
    patience_s: float = DEADLINE_S,
    tls: ssl.SSLContext | None = None,
    trust: ssl.SSLContext | None = None,
) -> Iterator[Serving]:
    """Serve media, until the test is through with them."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=512)
    ready, end = threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve() -> None:
        async with serve_media(desk, Place(listening, patience_s, tls), grace_s=0.1):
            loops.append(asyncio.get_running_loop())
            ready.set()
            await end.wait()

    def run() -> None:
        with asyncio.Runner(loop_factory=loop) as runner:
            runner.run(serve())

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert ready.wait(DEADLINE_S)
        yield Serving(listening.getsockname()[1], trust)
    finally:
        loops[0].call_soon_threadsafe(end.set)
        thread.join(DEADLINE_S)
        listening.close()
    assert not thread.is_alive()
