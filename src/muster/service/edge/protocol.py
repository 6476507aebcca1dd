# SPDX-License-Identifier: Apache-2.0
"""Connections that are slow or endless on purpose: the head of a request has to be short, and to come soon.

The server that this builds upon waits for ever for the first byte of a request and for the last of its head,
and keeps as much of it as is sent. It keeps all trailers of a body and all requests that are sent before the
first one is answered, too; here trailers are dropped, and both are bounded. It waits for ever for a client
that takes nothing of an answer; here such a connection ends.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Sized
from typing import Any, Final, cast

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from muster.service.edge.answers import render_error
from muster.service.edge.connections import CONNECTION_KEY
from muster.serving.accept import reset
from muster.serving.connections import Connection, cached_network_of
from muster.serving.quiet_log import QuietLog

HEAD_BYTES: Final = 48 << 10
HEAD_S: Final = 30.0
HELD_BYTES: Final = 96 << 10
"""Memory for all heads of a connection: of the request that is answered, and of those behind it."""
HEADER_BYTES: Final = 128
"""Memory that a header takes besides its characters."""
STALL_S: Final = 20.0
"""How long a client may take to make room for the next piece of an answer; at most 128 KiB are queued."""
READ_AHEAD: Final = 32 << 10
"""Bytes that TLS reads while the application reads nothing."""
MAX_HEADERS: Final = 100
"""In the head of a request, and as many trailers behind its body."""
MAX_WAITING: Final = 8
"""Requests of one connection that wait until those before them are answered."""
LINGER_S: Final = 1.0
LINGER_BYTES: Final = 16 << 20
"""How long, and for how many bytes, a body that is not wanted is discarded before the connection ends: a
client that is still sending would not see the answer otherwise."""
FAREWELL_S: Final = 0.5
"""How long a client that only keeps its connection has for its part of the end of TLS."""


_garbage: Final = QuietLog(logging.getLogger("muster.service"), time.monotonic)
_failures: Final = QuietLog(logging.getLogger("muster.service"), time.monotonic)


class CallerLog:
    """The part of a logger that uvicorn uses, for one connection: a caller cannot fill the log."""

    level = logging.WARNING

    def __init__(self, network: str) -> None:
        self._network = network

    def warning(self, message: str, *values: object) -> None:
        """The caller sent what is not HTTP."""
        _garbage.note(self._network, "%s: %s", self._network, message % values)

    def error(self, message: str, *values: object, exc_info: BaseException | None = None) -> None:
        """The application failed, with its traceback."""
        text = (message % values).strip()
        _failures.write(logging.ERROR, text, "%s: %s", self._network, text, error=exc_info)


class Excess(Exception):
    """Too much was sent: nothing of it is parsed any more."""


class GuardedProtocol(HttpToolsProtocol):
    """For uvicorn's setting `http`."""

    head_bytes = HEAD_BYTES
    head_s = HEAD_S
    _is_in_head = True
    """Whether a head is not complete, or has not begun; otherwise a body or its trailers are being read."""
    _head_bytes = 0
    """What was read since the last head was complete, or since the last piece of a body."""
    _header_count = 0
    """Headers of the head, or trailers of the body."""
    _timer: asyncio.TimerHandle | None = None
    _answered: RequestResponseCycle | None = None
    """The request that is being answered; `cycle` is the one that was read last."""
    connection: Connection | None = None
    """What it is counted as, where connections are counted."""
    is_made = False
    _discarded: int | None = None
    """How much was discarded behind the last answer; None before."""
    stall_s = STALL_S
    _stall: asyncio.TimerHandle | None = None
    """Runs while the client takes nothing of what is queued."""
    _cost = 0
    """Memory for the head that is being read."""
    _costs: deque[int]
    """The same of requests that are not answered yet."""
    _held = 0
    """Memory for all heads."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.is_made = True
        self._costs = deque()
        self.flow = _Flow(transport, self.pipeline)
        # Together with what the transport below TLS queues, and pieces, this is at most 128 KiB.
        transport.set_write_buffer_limits(1)
        if (limit_reading := getattr(transport, "set_read_buffer_limits", None)) is not None:
            limit_reading(READ_AHEAD)
        network = cached_network_of(self.client[0]) if self.client else ""
        self.logger = cast("logging.Logger", CallerLog(network))
        if self.connection is not None:
            self.connection.close = transport.abort
        self._touch()
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._stop_stall()
        self._unset_keepalive_if_required()
        if self.connection is not None:
            self.connection.ended()
            self.connection = None
        self.pipeline.clear()
        if self._answered is not None:
            # This one is told; those that wait are not begun.
            self.cycle = self._answered
        super().connection_lost(exc)
        if self.cycle is not None:
            # It refers to this protocol, which would stay until garbage is collected.
            self.cycle.transport = self.transport

    def forget(self) -> None:
        """The connection was never made: let go of what refers back to this protocol."""
        self.connection = None
        self.parser = None  # type: ignore[assignment]

    def shutdown(self) -> None:
        """The server ends. Who sleeps on an open connection does not keep it up."""
        super().shutdown()
        if self.transport.is_closing():
            self.loop.call_later(FAREWELL_S, self.transport.abort)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._discarded is not None:
            self._discarded += len(data)
            if self._discarded > LINGER_BYTES:
                self.transport.abort()
            return
        self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes > self.head_bytes and not self.transport.is_closing():
            self._refuse_head("the head of the request is too long")

    def send_400_response(self, msg: str) -> None:
        """What was sent is not HTTP, or was too much and is refused already."""
        if self._has_begun_answer():
            self.transport.abort()
        elif not self.transport.is_closing():
            super().send_400_response(msg)

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._stall is None:
            self._stall = self.loop.call_later(self.stall_s, reset, self.transport)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_stall()
        self._touch()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self.connection is not None:
            self.scope["state"][CONNECTION_KEY] = self.connection
        self._header_count = 0
        if not self._is_in_head:
            self._is_in_head = True
            self._await_head()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or a trailer, which nobody needs."""
        self._header_count += 1
        if self._header_count > MAX_HEADERS:
            self._refuse_head(f"the request has more than {MAX_HEADERS} headers")
            raise Excess
        if self._is_in_head:
            self._hold(len(name) + len(value) + HEADER_BYTES)
            super().on_header(name, value)

    def on_url(self, url: bytes) -> None:
        self._hold(len(url))
        super().on_url(url)

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        self._head_bytes = self._header_count = 0
        self._stop_timer()
        if len(self.pipeline) >= MAX_WAITING:
            self.transport.abort()
            raise Excess
        self._touch()
        self._costs.append(self._cost)
        self._cost = 0
        super().on_headers_complete()
        self.cycle.transport = cast("asyncio.Transport", _Closing(self))
        if not self.pipeline:
            self._answered = self.cycle

    def on_body(self, body: bytes) -> None:
        self._head_bytes = 0
        super().on_body(body)

    def on_response_complete(self) -> None:
        self._held -= self._costs.popleft()
        if self.pipeline:
            self._answered = self.pipeline[-1][0]
        super().on_response_complete()
        if not self.transport.is_closing():
            self.flow.resume_reading()

    def end(self) -> None:
        """The last answer is given. What is left of the body of its request is discarded."""
        if self._discarded is not None or self.transport.is_closing():
            return
        self.pipeline.clear()
        if self._answered is None or not self._answered.more_body:
            self.transport.close()
            return
        self._discarded = 0
        self.flow.resume_reading()
        self._stop_timer()
        self._timer = self.loop.call_later(LINGER_S, self.transport.close)

    def _hold(self, size: int) -> None:
        """Account for a part of a head; too many of them end the connection."""
        self._cost += size
        self._held += size
        if self._held > HELD_BYTES:
            self.transport.abort()
            raise Excess

    def _touch(self) -> None:
        if self.connection is not None:
            self.connection.touch()

    def _stop_stall(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def _unsupported_upgrade_warning(self) -> None:
        self.logger.warning("a request to upgrade to another protocol was answered as plain HTTP")

    def _await_head(self) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(self.head_s, self._give_up)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        if self._head_bytes:
            self._refuse(b"408 Request Timeout", 408, "the head of the request did not come in time")
        else:
            self.transport.close()

    def _refuse_head(self, reason: str) -> None:
        """Too much of a head; nobody waits for an answer to trailers."""
        if self._is_in_head:
            self._refuse(b"431 Request Header Fields Too Large", 431, reason)
        else:
            self.transport.abort()

    def _refuse(self, line: bytes, status: int, reason: str) -> None:
        if self._has_begun_answer():
            self.transport.abort()
            return
        body = render_error(status, reason)
        kind = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close" % len(body)
        self.transport.write(b"HTTP/1.1 %s\r\n%s\r\n\r\n%s" % (line, kind, body))
        self.transport.close()

    def _has_begun_answer(self) -> bool:
        """Whether what is sent now would stand within the answer to another request."""
        answered = self._answered
        return answered is not None and answered.response_started and not answered.response_complete


class _Flow(FlowControl):
    """Reads no more while requests wait for their turn."""

    def __init__(self, transport: asyncio.Transport, waiting: Sized) -> None:
        super().__init__(transport)
        self._waiting = waiting

    def resume_reading(self) -> None:
        if not self._waiting:
            super().resume_reading()


class _Closing:
    """The transport as an answer sees it: it is not closed while the client is still sending."""

    def __init__(self, protocol: GuardedProtocol) -> None:
        self.write = protocol.transport.write
        self.close = protocol.end
        self.is_closing = protocol.transport.is_closing


def server_settings() -> dict[str, Any]:
    """Settings of uvicorn that belong to it: which software answers is nobody's business."""
    return {"http": GuardedProtocol, "server_header": False, "ws": "none", "timeout_keep_alive": 75}
