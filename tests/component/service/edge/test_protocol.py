# SPDX-License-Identifier: Apache-2.0
"""What one connection may send is bounded: headers, trailers, requests ahead of their turn, unread bodies."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvicorn

from muster.service.edge.protocol import (
    HEAD_BYTES,
    HELD_BYTES,
    LINGER_BYTES,
    MAX_HEADERS,
    MAX_WAITING,
    GuardedProtocol,
    server_settings,
)

GET = b"GET /%d HTTP/1.1\r\nHost: a\r\n\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
KIB = 1 << 10


class Transport(asyncio.Transport):
    """Remembers what is done with it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.is_closed = self.is_aborted = self._is_paused = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 1) if name in ("peername", "sockname") else default

    def write(self, data: Any) -> None:
        self.written += data

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def is_closing(self) -> bool:
        return self.is_closed or self.is_aborted

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_aborted = True

    def pause_reading(self) -> None:
        self._is_paused = True

    def resume_reading(self) -> None:
        self._is_paused = False

    def is_reading(self) -> bool:
        return not self._is_paused


class Scene:
    """A protocol with an application that answers when it is told to."""

    def __init__(
        self, app: Callable[..., Any] | None = None, kind: type[GuardedProtocol] = GuardedProtocol
    ) -> None:
        self.scopes: list[Any] = []
        self.turns: asyncio.Semaphore = asyncio.Semaphore(0)
        asked = app or self._answer
        config = uvicorn.Config(
            asked, interface="asgi3", log_config=None, lifespan="off", **server_settings()
        )
        config.load()
        server = uvicorn.Server(config)
        self.protocol = kind(config, server.server_state, {}, asyncio.get_running_loop())
        self.transport = Transport()
        self.protocol.connection_made(self.transport)

    async def _answer(self, scope: Any, _receive: Any, send: Any) -> None:
        self.scopes.append(scope)
        await self.turns.acquire()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})

    @property
    def paths(self) -> list[str]:
        return [each["path"] for each in self.scopes]

    def send(self, data: bytes) -> None:
        self.protocol.data_received(data)

    async def settle(self) -> None:
        for _ in range(20):
            await asyncio.sleep(0)


def play(scene: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(scene())


def headers(count: int) -> bytes:
    return b"".join(b"a%d: b\r\n" % each for each in range(count))


@pytest.mark.parametrize("end", [b"", b"\r\n"], ids=["incomplete", "complete"])
def test_a_head_has_a_hundred_headers_at_most(end: bytes) -> None:
    async def scene() -> None:
        found = Scene()
        # The last header is told when the next one begins, or with the end of the head.
        found.send(b"GET / HTTP/1.1\r\n" + headers(MAX_HEADERS) + (end or b"last: "))
        assert not found.transport.is_closing()
        found = Scene()
        found.send(b"GET / HTTP/1.1\r\n" + headers(16_000) + end)
        assert found.transport.written.startswith(b"HTTP/1.1 431 ")
        assert found.transport.written.count(b"HTTP/1.1 ") == 1
        assert found.transport.is_closed
        assert len(found.protocol.headers) == MAX_HEADERS
        await found.settle()
        assert found.scopes == []

    play(scene)


def test_headers_are_counted_anew_for_each_request() -> None:
    async def scene() -> None:
        found = Scene()
        for number in range(3):
            found.turns.release()
            found.send(b"GET /%d HTTP/1.1\r\n" % number + headers(80) + b"\r\n")
            await found.settle()
        assert found.paths == ["/0", "/1", "/2"]
        assert not found.transport.is_closing()

    play(scene)


def test_trailers_are_dropped() -> None:
    async def scene() -> None:
        found = Scene()
        found.send(CHUNKED + b"1\r\nx\r\n0\r\nAuthorization: Bearer x\r\nExpect: 100-continue\r\n\r\n")
        found.turns.release()
        await found.settle()
        assert [name for name, _ in found.scopes[0]["headers"]] == [b"host", b"transfer-encoding"]
        assert found.transport.written.startswith(b"HTTP/1.1 200 ")
        assert not found.transport.is_closing()

    play(scene)


def test_a_body_has_a_hundred_trailers_at_most() -> None:
    async def scene() -> None:
        found = Scene()
        found.send(CHUNKED + b"0\r\n" + headers(MAX_HEADERS) + b"last: ")
        assert not found.transport.is_closing()
        found.send(b"b\r\nmore: b\r\n")
        assert found.transport.is_aborted
        assert len(found.protocol.headers) == 2

    play(scene)


@pytest.mark.parametrize(
    ("begin", "more"),
    [(b"0\r\na: ", b"x"), (b"0\r\na", b"x"), (b"1;", b"x"), (b"0\r\n\r\n", b"\r\n")],
    ids=["trailer", "name of a trailer", "extension of a chunk", "nothing but ends of lines"],
)
def test_what_is_neither_head_nor_body_has_an_end(begin: bytes, more: bytes) -> None:
    async def scene() -> None:
        found = Scene()
        found.send(CHUNKED + begin)
        piece, sent = more * 4 * KIB, 0
        while not found.transport.is_aborted:
            found.send(piece)
            sent += len(piece)
            assert sent <= HEAD_BYTES + len(piece)

    play(scene)


def test_a_body_in_many_chunks_may_be_long() -> None:
    async def scene() -> None:
        found = Scene()
        found.send(CHUNKED)
        for _ in range(100):
            found.send(b"4;extension\r\nbody\r\n" * 100)
        assert not found.transport.is_closing()
        assert found.protocol.cycle.body == b"body" * 10_000

    play(scene)


def test_a_burst_of_requests_ends_the_connection() -> None:
    async def scene() -> None:
        told: list[str] = []

        async def app(scope: Any, receive: Any, _send: Any) -> None:
            while (message := await receive())["type"] != "http.disconnect":
                pass
            told.append(scope["path"] + message["type"])

        found = Scene(app)
        found.send(b"".join(GET % each for each in range(8000)))
        assert found.transport.is_aborted
        assert len(found.protocol.pipeline) == MAX_WAITING
        found.protocol.connection_lost(None)
        await found.settle()
        assert told == ["/0http.disconnect"], "who is being answered is told; others are not begun"
        assert not found.protocol.pipeline
        assert found.transport.written == b""

    play(scene)


def test_the_request_whose_turn_it_is_is_told_that_the_connection_is_lost() -> None:
    async def scene() -> None:
        told: list[str] = []

        async def app(scope: Any, receive: Any, send: Any) -> None:
            if scope["path"] == "/0":
                head = [(b"content-length", b"0")]
                await send({"type": "http.response.start", "status": 200, "headers": head})
                await send({"type": "http.response.body"})
                return
            while (await receive())["type"] != "http.disconnect":
                pass
            told.append(scope["path"])

        found = Scene(app)
        found.send(GET % 0 + GET % 1 + GET % 2)
        await found.settle()
        found.protocol.connection_lost(None)
        await found.settle()
        assert told == ["/1"]

    play(scene)


def test_requests_that_wait_are_answered_in_their_order_and_no_more_is_read_meanwhile() -> None:
    async def scene() -> None:
        found = Scene()
        found.send(b"".join(GET % each for each in range(MAX_WAITING + 1)))
        await found.settle()
        for number in range(MAX_WAITING):
            assert found.paths == [f"/{each}" for each in range(number + 1)]
            assert not found.transport.is_reading()
            found.turns.release()
            await found.settle()
        assert found.transport.is_reading(), "none waits any more"
        found.turns.release()
        await found.settle()
        assert found.transport.written.count(b"HTTP/1.1 200 ") == MAX_WAITING + 1
        found.send(GET % 9)
        found.turns.release()
        await found.settle()
        assert found.paths[-1] == "/9"

    play(scene)


def test_heads_of_requests_that_wait_are_bounded_in_bytes() -> None:
    async def scene() -> None:
        found = Scene()
        head = b"GET / HTTP/1.1\r\nx: " + b"x" * 20 * KIB + b"\r\n\r\n"
        found.send(head * 4)
        assert not found.transport.is_closing()
        for _ in range(4):
            found.turns.release()
            await found.settle()
        assert found.transport.written.count(b"HTTP/1.1 200 ") == 4
        assert found.protocol._held == 0, "those that were answered count no more"
        found.send(head * 4)
        assert not found.transport.is_closing()
        found.send(head)
        assert found.transport.is_aborted
        assert found.protocol._held <= HELD_BYTES + 21 * KIB

    play(scene)


def test_many_small_headers_of_requests_that_wait_are_bounded() -> None:
    async def scene() -> None:
        found = Scene()
        found.send((b"GET / HTTP/1.1\r\n" + headers(MAX_HEADERS) + b"\r\n") * (MAX_WAITING + 1))
        assert found.transport.is_aborted, "each takes memory beside its characters"

    play(scene)


def test_client_that_takes_nothing_for_some_time_is_closed() -> None:
    class Impatient(GuardedProtocol):
        stall_s = 0.02

    async def scene() -> None:
        found = Scene(kind=Impatient)
        found.protocol.pause_writing()
        found.protocol.resume_writing()
        await asyncio.sleep(0.1)
        assert not found.transport.is_closing(), "it took some"
        found.protocol.pause_writing()
        await asyncio.sleep(0.1)
        assert found.transport.is_aborted
        found = Scene(kind=Impatient)
        found.protocol.pause_writing()
        found.protocol.connection_lost(None)
        await asyncio.sleep(0.1)
        assert not found.transport.is_aborted, "there is no timer left"

    play(scene)


def test_a_request_that_asks_for_its_body_does_not_go_on_reading_for_those_behind_it() -> None:
    async def scene() -> None:
        async def app(_scope: Any, receive: Any, _send: Any) -> None:
            assert (await receive())["more_body"] is False
            await receive()

        found = Scene(app)
        found.send(GET % 0 + GET % 1)
        await found.settle()
        assert not found.transport.is_reading()
        found.protocol.connection_lost(None)
        await found.settle()

    play(scene)


def test_a_body_whose_request_waited_is_read_when_its_turn_has_come() -> None:
    async def scene() -> None:
        bodies: list[bytes] = []

        async def app(_scope: Any, receive: Any, send: Any) -> None:
            body, more = b"", True
            while more:
                message = await receive()
                body, more = body + message["body"], message["more_body"]
            bodies.append(body)
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
            await send({"type": "http.response.body"})

        found = Scene(app)
        found.send(GET % 0 + b"POST / HTTP/1.1\r\nContent-Length: 6\r\n\r\nabc")
        assert not found.transport.is_reading()
        await found.settle()
        assert found.transport.is_reading()
        found.send(b"def")
        await found.settle()
        assert bodies == [b"", b"abcdef"]

    play(scene)


@pytest.mark.parametrize(
    "more",
    [
        b"GET / HTTP/1.1\r\n" + headers(200),
        b"\x00garbage\r\n\r\n",
        b"GET / HTTP/1.1\r\na: " + b"x" * 70 * KIB,
    ],
    ids=["headers", "garbage", "long head"],
)
def test_nothing_is_written_into_an_answer_that_has_begun(more: bytes) -> None:
    async def scene() -> None:
        async def app(_scope: Any, _receive: Any, send: Any) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"9")]})
            await send({"type": "http.response.body", "body": b"1", "more_body": True})
            await asyncio.Event().wait()

        found = Scene(app)
        found.send(GET % 0)
        await found.settle()
        before = found.transport.written
        assert before.endswith(b"1")
        found.send(more)
        assert found.transport.is_aborted
        assert found.transport.written == before

    play(scene)


async def _refuse(_scope: Any, _receive: Any, send: Any) -> None:
    head = [(b"content-length", b"0"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": head})
    await send({"type": "http.response.body"})


class Parser:
    """Nothing is to be parsed."""

    def feed_data(self, _data: bytes) -> None:
        raise AssertionError("it was parsed")


def test_what_comes_behind_the_last_answer_is_discarded_unparsed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> None:
        found = Scene(_refuse)
        found.send(CHUNKED + b"5\r\nhe")
        await found.settle()
        assert found.transport.written.startswith(b"HTTP/1.1 413 ")
        assert not found.transport.is_closing(), "the client is still sending, and would not see the answer"
        monkeypatch.setattr(found.protocol, "parser", Parser())
        for _ in range(LINGER_BYTES // (256 * KIB)):
            found.send(b"a:\r\n" * (64 * KIB))
        assert not found.transport.is_aborted
        assert len(found.protocol.headers) == 2
        assert found.protocol.cycle.body == b"he"
        found.send(b"x")
        assert found.transport.is_aborted

    play(scene)


def test_requests_behind_the_last_answer_are_not_begun() -> None:
    async def scene() -> None:
        begun: list[str] = []

        async def app(scope: Any, receive: Any, send: Any) -> None:
            begun.append(scope["path"])
            await _refuse(scope, receive, send)

        found = Scene(app)
        found.send(GET % 0 + GET % 1 + CHUNKED + b"5\r\nhe")
        await found.settle()
        assert begun == ["/0"]
        assert found.transport.is_closed
        assert found.transport.written.count(b"HTTP/1.1 ") == 1
        assert not found.protocol.pipeline

    play(scene)


def test_a_connection_that_breaks_leaves_no_timer() -> None:
    async def scene() -> None:
        found = Scene()
        found.turns.release()
        found.send(GET % 0)
        await found.settle()
        timer = found.protocol.timeout_keep_alive_task
        assert timer is not None
        found.protocol.connection_lost(ConnectionResetError())
        assert timer.cancelled()

    play(scene)


def test_a_connection_that_is_lost_with_requests_that_wait_leaves_no_garbage() -> None:
    async def scene() -> None:
        found = Scene()
        found.turns.release()
        found.send(b"".join(GET % each for each in range(5)))
        await found.settle()
        found.protocol.connection_lost(None)
        found.turns.release()
        await found.settle()
        del found.protocol
        left = [each for each in gc.get_objects() if isinstance(each, GuardedProtocol)]
        assert left == []

    gc.collect()
    gc.disable()
    try:
        play(scene)
    finally:
        gc.enable()
