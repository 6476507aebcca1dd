# SPDX-License-Identifier: Apache-2.0
"""A server over TLS with all that stands at the edge, and clients that trust it."""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import uvicorn

from muster.service.edge.answers import App
from muster.service.edge.protocol import GuardedProtocol, server_settings
from muster.service.edge.tls import Moment, make_context, make_identity
from muster.serving.accept import UNSENT_BYTES


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Served:
    """Where the server is, and how to trust it."""

    port: int
    trust: ssl.SSLContext

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """One request on a connection of its own."""
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.trust, timeout=30)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, named)
            response = connection.getresponse()
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            connection.close()

    def connect(self) -> ssl.SSLSocket:
        """A bare connection."""
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        return self.trust.wrap_socket(plain, server_hostname="127.0.0.1")


class Server(uvicorn.Server):
    """Says when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()


@contextmanager
def start_server(
    app: App, folder: Path, protocol: type[GuardedProtocol] = GuardedProtocol
) -> Iterator[Served]:
    """The application behind uvicorn, on a free port."""
    identity = make_identity(folder, ("127.0.0.1", "localhost"), Moment(datetime.now(UTC), os.urandom))
    settings = {**server_settings(), "http": protocol}
    context = make_context(identity.path)
    config = uvicorn.Config(
        app, log_config=None, lifespan="off", ssl_context_factory=lambda *_: context, **settings
    )
    server = Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        # As the service does it.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            assert server.ready.wait(30)
            trust = ssl.create_default_context(cadata=identity.authority_pem)
            yield Served(listener.getsockname()[1], trust)
        finally:
            server.should_exit = True
            thread.join(30)
