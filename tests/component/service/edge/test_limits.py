# SPDX-License-Identifier: Apache-2.0
"""Limits and headers in front of a real server over TLS."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import re
import socket
import ssl
import time
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from muster.service.api.table.route import PREFIX
from muster.service.edge.headers import SecureHeaders
from muster.service.edge.limits import PIECE, Limit, Limits, Settings
from muster.service.edge.paths import CleanPaths
from muster.service.edge.protocol import GuardedProtocol
from muster.service.edge.rate import Rate
from tests.component.service.edge.serving import Served, start_server

ECHO, SLOW, FILE, MANY, DRIP, BIG = (
    f"{PREFIX}/v2/{name}" for name in ("echo", "slow", "file", "many", "drip", "big")
)
CALLS: list[str] = []
BIG_BYTES = 16 << 20
SETTINGS = Settings(
    limits=(
        Limit(re.compile("/v2/file$"), 200_000, 0, is_streamed=True),
        Limit(re.compile("/v2/many$"), 1000, 1000, "few"),
        Limit(re.compile(""), 100_000, 5_000),
    ),
    rates={"strangers": Rate(100_000, 100_000), "few": Rate(burst=3, per_second=0.001)},
    stranger_body_bytes=100_000,
    depth=16,
    header_bytes=8000,
    address_bytes=2000,
    body_s=0.3,
    answer_s=0.4,
)


async def echo(request: Request) -> Response:
    body = await request.body()
    CALLS.append(request.url.path)
    return JSONResponse({"length": len(body), "id": request.state.request_id})


async def slow(_request: Request) -> Response:
    await asyncio.sleep(30)
    return Response()


async def file(request: Request) -> Response:
    size = 0
    async for piece in request.stream():
        size += len(piece)
    return JSONResponse({"length": size})


async def drip(_request: Request) -> Response:
    async def pieces() -> Iterator[bytes]:  # type: ignore[misc]
        for _ in range(8):
            await asyncio.sleep(0.1)
            yield b"x"

    return StreamingResponse(pieces())


async def big(_request: Request) -> Response:
    return Response(bytes(BIG_BYTES))


class Impatient(GuardedProtocol):
    head_bytes = 16_000
    head_s = 0.3
    stall_s = 0.5


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    methods = ["GET", "POST"]
    routes = [
        Route(ECHO, echo, methods=methods),
        Route(SLOW, slow),
        Route(FILE, file, methods=methods),
        Route(MANY, echo),
        Route(DRIP, drip),
        Route(BIG, big),
    ]
    limits = Limits(CleanPaths(Starlette(routes=routes), PREFIX), SETTINGS, time.monotonic)
    app = SecureHeaders(limits, lambda: "made", PREFIX)
    with start_server(app, tmp_path_factory.mktemp("tls"), Impatient) as served:
        yield served


def test_a_good_request_passes(served: Served) -> None:
    answer = served.ask("POST", f"{PREFIX}//v2/echo/", json.dumps({"a": ["b"]}), X_Request_ID="mine")
    assert answer.status == 200
    assert answer.json == {"length": 12, "id": "mine"}
    assert answer.headers["x-request-id"] == "mine"
    assert "server" not in answer.headers
    assert answer.headers["cache-control"] == "no-store"


def test_a_body_in_pieces_arrives_whole(served: Served) -> None:
    answer = served.ask("POST", ECHO, iter([b'["', b"x" * 4000, b'", "', b"y" * 4000, b'"]']))
    assert answer.json["length"] == 8008


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'"' + b"x" * 5000 + b'"', 200),
        (b'"' + b"x" * 5001 + b'"', 413),
        (b"[" * 16 + b"]" * 16, 200),
        (b"[" * 17 + b"]" * 17, 400),
        (b"[" * 50_000, 400),
        (b"1" * 100_001, 413),
    ],
    ids=["long enough", "long text", "deep enough", "too deep", "bomb", "large"],
)
def test_what_a_body_may_be_like(served: Served, body: bytes, status: int) -> None:
    CALLS.clear()
    answer = served.ask("POST", ECHO, body)
    assert answer.status == status
    assert bool(CALLS) == (status == 200), "what is refused never reaches a handler"
    if status != 200:
        assert answer.json.keys() == {"kind", "id", "href", "code", "reason"}
        assert answer.json["id"] == status
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_body_that_does_not_say_how_large_it_is(served: Served) -> None:
    answer = served.ask("POST", ECHO, iter([b"[1]" + b" " * 60_000, b" " * 60_000]))
    assert answer.status == 413


def test_a_file_is_passed_on_up_to_its_limit(served: Served) -> None:
    assert served.ask("POST", FILE, iter([b"x" * 50_000] * 4)).json == {"length": 200_000}
    assert served.ask("POST", FILE, iter([b"x" * 50_000] * 5)).status == 413
    assert served.ask("POST", FILE, b"x" * 200_001).status == 413


def test_long_heads_and_addresses(served: Served) -> None:
    assert served.ask("GET", ECHO, X_Long="x" * 9000).status == 431
    assert served.ask("GET", f"{ECHO}?{'x' * 3000}").status == 414
    assert served.ask("GET", f"{ECHO}?{'x' * 1000}").status == 200


def test_too_many(served: Served) -> None:
    statuses = [served.ask("GET", MANY).status for _ in range(4)]
    assert statuses == [200, 200, 200, 429]
    answer = served.ask("GET", MANY)
    assert int(answer.headers["retry-after"]) > 1
    assert answer.json["code"] == "429"
    assert served.ask("GET", ECHO).status == 200


def test_a_probe_is_answered_whatever_else_its_address_asks_for() -> None:
    async def answer(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def receive() -> Any:
        raise AssertionError("nobody reads a body that is not there")

    async def ask(path: str) -> int:
        heads: list[int] = []

        async def send(message: Any) -> None:
            heads.append(message.get("status", 0))

        scope = {"type": "http", "path": path, "query_string": b"", "headers": [], "client": ("192.0.2.1", 1)}
        await limits(scope, receive, send)
        return heads[0]

    async def scene() -> None:
        people = [await ask(f"{PREFIX}/v2/clusters") for _ in range(500)]
        assert people[0] == 200
        assert people[-1] == 429
        assert [await ask("/health"), await ask("/ready")] == [200, 200]

    limits = Limits(answer, Settings(), lambda: 0.0)
    asyncio.run(scene())


def test_a_handler_that_does_not_answer(served: Served) -> None:
    assert served.ask("GET", SLOW).status == 504


def test_an_answer_that_has_begun_may_take_its_time(served: Served) -> None:
    assert served.ask("GET", DRIP).body == b"x" * 8


def test_a_body_that_never_comes(served: Served) -> None:
    with served.connect() as connection:
        connection.sendall(f"POST {ECHO} HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n[1".encode())
        assert b" 408 " in connection.recv(1000)
    assert served.ask("GET", ECHO).status == 200


def test_client_that_takes_nothing_is_closed_and_one_that_is_slow_is_not(served: Served) -> None:
    def take(pause_s: float, pauses: int) -> int:
        with socket.socket() as plain:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 10)
            plain.settimeout(30)
            plain.connect(("127.0.0.1", served.port))
            with served.trust.wrap_socket(plain, server_hostname="127.0.0.1") as client:
                client.sendall(f"GET {BIG} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                count = 0
                with contextlib.suppress(ConnectionError, ssl.SSLError):
                    while count < BIG_BYTES and (piece := client.recv(256 << 10)):
                        count += len(piece)
                        if pauses:
                            pauses -= 1
                            time.sleep(pause_s)
                return count

    assert take(0.02, 50) >= BIG_BYTES
    assert take(3.0, 1) < BIG_BYTES


def test_long_answers_are_sent_in_pieces() -> None:
    sizes: list[int] = []

    async def answer(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": bytes(100_000), "more_body": True})
        await send({"type": "http.response.body", "body": bytes(PIECE + 1)})

    async def receive() -> Any:
        raise AssertionError("there is no body")

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            sizes.append(len(message.get("body", b"")))
            ended.extend([] if message.get("more_body") else [True])

    ended: list[bool] = []
    scope = {"type": "http", "path": "/", "query_string": b"", "headers": [], "client": ("192.0.2.1", 1)}
    asyncio.run(Limits(answer, Settings(), lambda: 0.0)(scope, receive, send))
    assert sum(sizes) == 100_000 + PIECE + 1
    assert max(sizes) == PIECE
    assert ended == [True], "only the last piece says so"


def test_a_head_that_never_ends(served: Served) -> None:
    with served.connect() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nX: ")
        answer = b""
        try:
            for _ in range(100):
                connection.sendall(b"y" * 1000)
            answer = connection.recv(1000)
        except OSError:
            pass
    assert b" 431 " in answer or answer == b""
    assert served.ask("GET", ECHO).status == 200


@pytest.mark.parametrize(("sent", "said"), [(b"GET / HT", b" 408 "), (b"", b"")])
def test_a_head_that_never_comes(served: Served, sent: bytes, said: bytes) -> None:
    with served.connect() as connection:
        connection.sendall(sent)
        answer = connection.recv(1000)
        assert said in answer
        assert bool(answer) == bool(said)


def test_a_connection_is_used_again_after_waiting(served: Served) -> None:
    request = f"GET {ECHO} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    with served.connect() as connection:
        for _ in range(3):
            connection.sendall(request)
            answer = b""
            while not answer.endswith(b"}"):
                answer += connection.recv(5000)
            assert answer.startswith(b"HTTP/1.1 200 ")
            time.sleep(0.4)


def test_garbage_does_not_bring_it_down(served: Served) -> None:
    chance = random.Random(7)
    starts = (
        b"",
        b"GET ",
        f"POST {ECHO} HTTP/1.1\r\nHost: x\r\nContent-Length: 40\r\n\r\n".encode(),
        b"\r\n\r\n",
    )
    for _ in range(150):
        with contextlib.suppress(OSError), served.connect() as connection:
            connection.sendall(chance.choice(starts) + chance.randbytes(chance.randrange(400)))
    assert served.ask("GET", ECHO).status == 200


def test_old_tls_and_strangers_are_refused(served: Served) -> None:
    stranger = Served(served.port, ssl.create_default_context())
    with pytest.raises(ssl.SSLCertVerificationError):
        stranger.ask("GET", ECHO)
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname = False
    old.verify_mode = ssl.CERT_NONE
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(ssl.SSLError):
        Served(served.port, old).ask("GET", ECHO)
