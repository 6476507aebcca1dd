# SPDX-License-Identifier: Apache-2.0
"""Attacks by strangers and by hosts: what they cost is bounded, and others are served meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
import ssl
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from muster.client.host_key import HostKey
from muster.model.host_key import KEY_HEADER
from muster.service.edge import protocol
from muster.service.edge.connections import ROOMS, Room
from muster.service.edge.limits import BODIES, KIB, MIB
from muster.service.edge.limits import Settings as LimitSettings
from muster.service.edge.quiet_log import QuietLog
from muster.service.hosting import Running
from muster.serving.server import Place, open_server
from tests.component.service.whole import API, Whole, come, open_service, play

HOST = "11111111-2222-3333-4444-555555555555"
INSTRUCTIONS = f"{API}/infra-envs/{HOST}/hosts/{HOST}/instructions"


class Wire:
    """Bare connections to a service, from any loopback address."""

    def __init__(self, running: Running) -> None:
        self._port = int(running.url.rpartition(":")[2])
        self._context = ssl.create_default_context(cadata=running.identity.authority_pem)
        self._writers: list[asyncio.StreamWriter] = []

    async def open(self, source: str = "127.0.0.1") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        found = await asyncio.open_connection(
            "127.0.0.1",
            self._port,
            ssl=self._context,
            server_hostname="localhost",
            local_addr=(source, 0),
        )
        self._writers.append(found[1])
        return found

    async def ask(self, text: str, source: str = "127.0.0.1") -> tuple[int, bytes]:
        """Send the head of a request, and perhaps a part of its body; the answer."""
        reader, writer = await self.open(source)
        writer.write(text.encode())
        return await read_answer(reader)

    def close(self) -> None:
        for each in self._writers:
            each.transport.abort()


async def read_answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
    body = await reader.readexactly(int(fields.get(b"content-length", b"0")))
    return int(head.split(b" ", 2)[1]), head + body


@contextlib.asynccontextmanager
async def attacked(folder: Path, **settings: Any) -> AsyncIterator[tuple[Whole, Wire]]:
    async with open_service(folder, **settings) as whole:
        wire = Wire(whole.running)
        try:
            yield whole, wire
        finally:
            wire.close()


def post(path: str, size: int, *more: str) -> str:
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {size}", *more]
    return "\r\n".join(lines) + "\r\n\r\n"


def get(path: str, *more: str) -> str:
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: localhost", *more]) + "\r\n\r\n"


async def enrol(whole: Whole) -> tuple[str, str, str]:
    """A host with a token of its own: the path of it, the token, and the id of its cluster."""
    cluster = await whole.make_cluster()
    infra_env = cluster["infra_env_id"]
    got = await whole.ask(
        "POST",
        f"/infra-envs/{infra_env}/hosts",
        {"host_id": HOST},
        **{"X_Secret_Key": whole.agent_token(infra_env), KEY_HEADER: HostKey(b"1" * 32).public},
    )
    assert got.status == 201, got.body
    return f"/infra-envs/{infra_env}/hosts/{HOST}", got.headers["x-muster-host-token"], cluster["id"]


def test_a_stranger_is_refused_before_the_body_is_read(tmp_path: Path) -> None:
    async def scene() -> None:
        async with attacked(tmp_path) as (whole, wire):
            for token in ("", "Authorization: Bearer x.y.z"):
                heads = [post(INSTRUCTIONS, 8 * MIB, *([token] if token else []))] * 60
                answers = await asyncio.gather(*(wire.ask(head) for head in heads))
                assert Counter(status for status, _ in answers) == {401: 60}
                assert all(b"connection: close" in answer.lower() for _, answer in answers)
            assert (await whole.ask("GET", "/health")).status == 200

    play(scene, 120)


def test_what_strangers_may_send_is_small_however_the_path_is_written(tmp_path: Path) -> None:
    async def scene() -> None:
        async with attacked(tmp_path) as (_, wire):
            for path in (f"{API}/login", f"{API}/login/", f"{API}//login"):
                assert (await wire.ask(post(path, 9 * KIB)))[0] == 413, path
            for path in ("/byid/x", "/images/x", "/boot-artifacts/x"):
                assert (await wire.ask(post(path, 1)))[0] == 413, path

    play(scene, 120)


def test_a_client_that_still_sends_sees_why_it_is_refused(tmp_path: Path) -> None:
    async def scene() -> None:
        async with attacked(tmp_path) as (_, wire):
            reader, writer = await wire.open()
            writer.write(post(INSTRUCTIONS, 4 * MIB).encode())
            for _ in range(64):
                writer.write(b"x" * 64 * KIB)
                await writer.drain()
            assert (await read_answer(reader))[0] == 401
            assert await reader.read() == b"", "and the connection ends"

    play(scene, 120)


def test_connections_of_strangers_are_few_and_the_owner_gets_in(tmp_path: Path) -> None:
    rooms = {**ROOMS, "strangers": Room(each=8, all=16)}

    async def scene() -> None:
        async with attacked(tmp_path, connections=rooms) as (whole, wire):
            opened = await asyncio.gather(
                *(wire.open(f"127.0.0.{2 + each % 4}") for each in range(80)), return_exceptions=True
            )
            readers = [each[0] for each in opened if not isinstance(each, BaseException)]
            await come(lambda: sum(not each.at_eof() and each.exception() is None for each in readers) <= 16)
            code = whole.running.login.code
            assert code is not None
            body = json.dumps({"code": code.show(whole.running._clock().timestamp())})
            status, answer = await wire.ask(post(f"{API}/login", len(body)) + body, "127.0.0.9")
            assert status == 201, answer
            token = json.loads(answer.partition(b"\r\n\r\n")[2])["token"]
            asked = get(f"{API}/clusters", f"Authorization: Bearer {token}")
            assert (await wire.ask(asked, "127.0.0.9"))[0] == 200

    play(scene, 120)


def test_two_hundred_hosts_behind_one_address_wait_for_their_steps(tmp_path: Path) -> None:
    rooms = {**ROOMS, "strangers": Room(each=8, all=16)}

    async def scene() -> None:
        async with attacked(tmp_path, connections=rooms) as (whole, wire):
            host, token, _ = await enrol(whole)
            asked = get(f"{API}{host}/instructions", f"X-Secret-Key: {token}")
            waiting = get(f"{API}{host}/instructions", f"X-Secret-Key: {token}", "Prefer: wait=60")
            assert (await wire.ask(asked))[0] == 200
            hosts = []
            for _ in range(200):
                reader, writer = await wire.open()
                writer.write(asked.encode())
                assert (await read_answer(reader))[0] == 200
                writer.write(waiting.encode())
                hosts.append(reader)
            assert not any(each.at_eof() for each in hosts)
            strangers = await asyncio.gather(*(wire.open() for _ in range(30)), return_exceptions=True)
            assert len(strangers) == 30
            assert not any(each.at_eof() for each in hosts), "strangers of the same address do not end them"
            assert (await whole.ask("GET", "/clusters")).status == 200

    play(scene, 240)


def test_bytes_of_bodies_are_bounded_and_who_waits_is_served(tmp_path: Path) -> None:
    bodies = {**BODIES, "hosts": Room(each=2 * MIB, all=2 * MIB)}

    async def scene() -> None:
        async with attacked(tmp_path, limits=LimitSettings(bodies=bodies)) as (whole, wire):
            host, token, _ = await enrol(whole)
            reply = json.dumps({"step_type": "inventory", "step_id": "a", "output": "x" * MIB})
            head = post(f"{API}{host}/instructions", len(reply), f"X-Secret-Key: {token}")
            begun = []
            for _ in range(10):
                reader, writer = await wire.open()
                writer.write((head + reply[:-1]).encode())
                begun.append((reader, writer))
            budget = whole.running.app._app._app.bodies["hosts"]
            await come(lambda: len(budget._waiting) == 9)
            assert budget.total == len(reply), "one fits; the others are not read before it is there"
            assert (await whole.ask("GET", "/health")).status == 200
            assert (await whole.ask("GET", "/clusters")).status == 200, "people have room of their own"
            for _, writer in begun:
                writer.write(reply[-1].encode())
            answers = await asyncio.gather(*(read_answer(reader) for reader, _ in begun))
            assert Counter(status for status, _ in answers) == {400: 10}, "all were read, and are not JSON"

    play(scene, 240)


def test_malformed_requests_write_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "_garbage", QuietLog(logging.getLogger("muster.service"), lambda: 1.0))

    async def scene() -> None:
        async with attacked(tmp_path) as (whole, wire):
            for each in range(40):
                reader, writer = await wire.open()
                upgrade = get("/health", "Connection: Upgrade", "Upgrade: websocket")
                writer.write(b"\x00garbage\r\n\r\n" if each % 2 else upgrade.encode())
                await reader.read(100)
            assert (await whole.ask("GET", "/health")).status == 200

    play(scene, 120)
    lines = [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert [each.name for each in lines] == ["muster.service"]
    assert "pip install" not in caplog.text


def test_events_of_hosts_are_bounded_in_size_and_number(tmp_path: Path) -> None:
    async def scene() -> None:
        async with attacked(tmp_path) as (whole, _):
            _, token, cluster = await enrol(whole)

            async def tell(message: str = "x", **more: Any) -> int:
                given = {"severity": "info", "event_time": "2026-01-01T00:00:00Z", "host_id": HOST}
                body = {**given, "message": message, "name": "flood", **more}
                return (await whole.ask("POST", "/events", body, X_Secret_Key=token)).status

            assert await tell("x" * 200_000) == 413
            assert await tell("x" * 4097) == 400
            assert await tell(name="x" * 257) == 400
            assert await tell(props=json.dumps({"a": "x" * 8192})) == 400
            assert Counter([await tell("x" * 4096) for _ in range(300)]) == {201: 200, 429: 100}
            found = (await whole.ask("GET", f"/events?cluster_id={cluster}&limit=-1")).json
            names = Counter(each["name"] for each in found)
            assert (names["flood"], names["events_suppressed"]) == (200, 1)

    play(scene, 240)


def test_log_lines_of_hosts_are_bounded_in_rate(tmp_path: Path) -> None:
    async def scene() -> None:
        async with attacked(tmp_path) as (whole, _):
            host, token, _ = await enrol(whole)
            for _ in range(50):
                lines = {"lines": [f"line {each}" for each in range(1000)]}
                got = await whole.ask("PUT", f"{host}/log-lines", lines, X_Secret_Key=token)
                assert got.status == 204
            tail = whole.running.service.tails[HOST]
            assert tail.show(5000).next < 50 * 1000
            assert len(tail.show(5000).lines) <= 2000

    play(scene, 120)


@pytest.mark.parametrize("number", ["9" * 400, "-" + "9" * 400, "1e999", "9" * 5000, str(1 << 64)])
def test_a_number_out_of_range_is_the_fault_of_who_sent_it(tmp_path: Path, number: str) -> None:
    async def scene() -> None:
        async with attacked(tmp_path) as (whole, wire):
            host, token, _ = await enrol(whole)
            output = f'{{"hostname":"a","memory":{{"physical_bytes":{number}}}}}'
            reply = json.dumps({"step_type": "inventory", "step_id": "a", "output": output})
            sent = f'{{"step_type":"inventory","step_id":"a","exit_code":{number},"output":"{{}}"}}'
            for body in (reply, sent):
                head = post(f"{API}{host}/instructions", len(body), f"X-Secret-Key: {token}")
                assert (await wire.ask(head + body))[0] == 400
            path = f"{API}{host}/instructions?timestamp={number}"
            assert (await wire.ask(get(path, f"X-Secret-Key: {token}")))[0] == 400

    play(scene, 120)


def test_errors_of_own_files_do_not_tell_their_paths(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        async with attacked(tmp_path) as (whole, _):
            (tmp_path / "data/keys/ended-sessions.json").mkdir()
            got = await whole.ask("DELETE", "/login")
            assert got.status == 503
            assert str(tmp_path) not in got.body.decode()
            assert "a file of the service" in got.json["reason"]

    play(scene, 120)
    assert str(tmp_path / "data/keys") in caplog.text


async def read_all(reader: asyncio.StreamReader) -> bytes:
    """All that comes until the connection ends, in whichever way."""
    pieces = []
    with contextlib.suppress(ConnectionError):
        while piece := await reader.read(64 * KIB):
            pieces.append(piece)
    return b"".join(pieces)


CHUNKED = f"POST {API}/login HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"


def test_trailers_are_few(tmp_path: Path) -> None:
    async def scene() -> None:
        async with attacked(tmp_path) as (whole, wire):
            for trailers in ("a:\r\n" * 200, f"a: {'x' * 300 * KIB}"):
                reader, writer = await wire.open()
                writer.write(f"{CHUNKED}0\r\n{trailers}".encode())
                assert await read_all(reader) == b"", "nobody waits for the end of them"
            few = "a: b\r\n" * 20
            assert (await wire.ask(f"{CHUNKED}2\r\n{{}}\r\n0\r\n{few}\r\n"))[0] == 400
            assert (await whole.ask("GET", "/health")).status == 200

    play(scene, 120)


def test_requests_that_are_sent_ahead_are_few(tmp_path: Path) -> None:
    async def scene() -> None:
        async with attacked(tmp_path) as (whole, wire):
            reader, writer = await wire.open()
            writer.write(get("/health").encode() * 8000)
            assert (await read_all(reader)).count(b"HTTP/1.1 ") <= protocol.MAX_WAITING + 1
            reader, writer = await wire.open()
            writer.write(get("/health").encode() * (protocol.MAX_WAITING + 1))
            answers = [await read_answer(reader) for _ in range(protocol.MAX_WAITING + 1)]
            assert {status for status, _ in answers} == {200}, "a few are answered"
            assert (await whole.ask("GET", "/health")).status == 200

    play(scene, 120)


def test_headers_are_few(tmp_path: Path) -> None:
    async def scene() -> None:
        async with attacked(tmp_path) as (whole, wire):
            head = "GET / HTTP/1.1\r\nHost: localhost\r\n" + "a:\r\n" * 200
            answers = await asyncio.gather(*(wire.ask(head) for _ in range(50)))
            assert Counter(status for status, _ in answers) == {431: 50}
            assert (await whole.ask("GET", "/health")).status == 200

    play(scene, 120)


def test_trailers_behind_a_refusal_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[bytes] = []

    class Noting(protocol.GuardedProtocol):
        def on_header(self, name: bytes, value: bytes) -> None:
            parsed.append(name)
            super().on_header(name, value)

    monkeypatch.setattr(protocol, "GuardedProtocol", Noting)

    async def scene() -> None:
        async with attacked(tmp_path) as (_, wire):
            reader, writer = await wire.open()
            writer.write(f"{CHUNKED}{9 * KIB:x}\r\n{'x' * 9 * KIB}".encode())
            assert (await read_answer(reader))[0] == 413
            writer.write(b"\r\n0\r\n" + b"trailer:\r\n" * 50)
            await read_all(reader)
            assert parsed
            assert b"trailer" not in parsed

    play(scene, 120)


class Slow:
    """Begins an answer, and ends it when it is told to."""

    def __init__(self) -> None:
        self.idle = asyncio.Event()
        self.goes_on = asyncio.Event()

    async def let_end(self) -> None:
        pass

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "3"})
        await response.prepare(request)
        await response.write(b"a")
        await self.goes_on.wait()
        await response.write(b"bc")
        return response


def test_connections_to_media_are_few_and_those_that_are_open_stay() -> None:
    async def come_in(port: int, source: str) -> asyncio.StreamReader | None:
        """A request whose answer has begun; None when the connection is refused."""
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0))
            writers.append(writer)
            writer.write(get("/image", "Connection: close").encode())
            await reader.readuntil(b"\r\n\r\n")
            return reader
        return None

    async def scene() -> None:
        desk = Slow()
        listening = socket.create_server(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        place = Place(listening, patience_s=60, most=5, most_each=2)
        async with open_server(desk, place, logging.getLogger("media"), desk.let_end):
            crowd = [await come_in(port, f"127.0.0.{2 + each // 4}") for each in range(8)]
            assert [each is not None for each in crowd] == [True, True, False, False] * 2
            assert await come_in(port, "127.0.0.4") is not None, "others are not affected"
            assert await come_in(port, "127.0.0.5") is None, "there is no room in all"
            desk.goes_on.set()
            taken = [await each.read() for each in crowd if each is not None]
            assert taken == [b"abc"] * 4, "who was there is not ended to make room"
            found = None
            while found is None:
                found = await come_in(port, "127.0.0.2")
            assert await found.read() == b"abc", "there is room again"
            for writer in writers:
                writer.transport.abort()

    writers: list[asyncio.StreamWriter] = []
    play(scene, 60)
