# SPDX-License-Identifier: Apache-2.0
"""Connections that are slow or endless on purpose: the head of a request has to be short, and to come soon.

The server that this builds upon waits for ever for the first byte of a request and for the last of its head,
and keeps as much of it as is sent.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from muster.service.edge.answers import render_error

HEAD_BYTES: Final = 64 << 10
HEAD_S: Final = 30.0
FAREWELL_S: Final = 0.5
"""How long a client that only keeps its connection has for its part of the end of TLS."""


class GuardedProtocol(HttpToolsProtocol):
    """For uvicorn's setting `http`."""

    head_bytes = HEAD_BYTES
    head_s = HEAD_S
    _head: int | None = 0
    """How much of a head there is; None outside of one."""
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """The server ends. Who sleeps on an open connection does not keep it up."""
        super().shutdown()
        if self.transport.is_closing():
            self.loop.call_later(FAREWELL_S, self.transport.abort)

    def data_received(self, data: bytes) -> None:
        if self._head is not None:
            self._head += len(data)
        super().data_received(data)
        if self._head is not None and self._head > self.head_bytes and not self.transport.is_closing():
            self._refuse(b"431 Request Header Fields Too Large", 431, "the head of the request is too long")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._head is None:
            self._head = 0
            self._await_head()

    def on_headers_complete(self) -> None:
        self._head = None
        self._stop_timer()
        super().on_headers_complete()

    def _await_head(self) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(self.head_s, self._give_up)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        if self._head:
            self._refuse(b"408 Request Timeout", 408, "the head of the request did not come in time")
        else:
            self.transport.close()

    def _refuse(self, line: bytes, status: int, reason: str) -> None:
        body = render_error(status, reason)
        kind = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close" % len(body)
        self.transport.write(b"HTTP/1.1 %s\r\n%s\r\n\r\n%s" % (line, kind, body))
        self.transport.close()


def server_settings() -> dict[str, Any]:
    """Settings of uvicorn that belong to it: which software answers is nobody's business."""
    return {"http": GuardedProtocol, "server_header": False, "ws": "none", "timeout_keep_alive": 75}
