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
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from muster.client.host_key import HostKey
from muster.model.host_key import KEY_HEADER
from muster.service.edge import protocol
from muster.service.edge.connections import ROOMS
from muster.service.edge.limits import BODIES, KIB, MIB, RATES, BodyRoom
from muster.service.edge.limits import Settings as LimitSettings
from muster.service.edge.rate import Rate
from muster.service.hosting import Running
from muster.serving.connections import Room
from muster.serving.delivery import send_parts
from muster.serving.head import Head
from muster.serving.quiet_log import QuietLog
from muster.serving.sending import ClientGone, Means, Part
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


async def enrol_many(whole: Whole, count: int, first: int = 0) -> list[tuple[str, str]]:
    """Hosts of one cluster: the path and the token of each."""
    infra_env = (await whole.make_cluster())["infra_env_id"]
    medium = whole.agent_token(infra_env)
    found = []
    for number in range(first, first + count):
        id, key = f"00000000-0000-4000-8000-{number:012}", HostKey(number.to_bytes(2, "big") * 16)
        headers = {"X_Secret_Key": medium, KEY_HEADER: key.public}
        got = await whole.ask("POST", f"/infra-envs/{infra_env}/hosts", {"host_id": id}, **headers)
        assert got.status == 201, got.body
        found.append((f"{API}/infra-envs/{infra_env}/hosts/{id}", got.headers["x-muster-host-token"]))
    return found


def is_closed(reader: asyncio.StreamReader) -> bool:
    return reader.at_eof() or reader.exception() is not None


def test_hosts_behind_one_address_wait_for_their_steps_and_send_requests(tmp_path: Path) -> None:
    rooms = {**ROOMS, "strangers": Room(each=8, all=16)}

    async def scene() -> None:
        async with attacked(tmp_path, connections=rooms) as (whole, wire):
            readers = []
            for path, token in await enrol_many(whole, 60):
                asked = get(f"{path}/instructions", f"X-Secret-Key: {token}")
                waiting = get(f"{path}/instructions", f"X-Secret-Key: {token}", "Prefer: wait=60")
                for each in (asked, asked, asked, waiting):
                    reader, writer = await wire.open()
                    writer.write(asked.encode())
                    assert (await read_answer(reader))[0] == 200
                    if each == waiting:
                        writer.write(waiting.encode())
                    readers.append(reader)
            strangers = await asyncio.gather(*(wire.open() for _ in range(30)), return_exceptions=True)
            assert len(strangers) == 30
            assert (await whole.ask("GET", "/clusters")).status == 200
            assert not any(is_closed(each) for each in readers), "neither hosts nor strangers end them"

    play(scene, 240)


def test_one_host_loses_its_own_connections_and_not_those_of_others(tmp_path: Path) -> None:
    rooms = {**ROOMS, "hosts": Room(each=4, all=6)}

    async def scene() -> None:
        async with attacked(tmp_path, connections=rooms) as (whole, wire):
            (evil, token), *others = await enrol_many(whole, 5)
            asked = get(f"{evil}/instructions", f"X-Secret-Key: {token}")
            crowd = []
            for each in range(20):
                reader, writer = await wire.open(f"127.0.0.{2 + each % 2}")
                writer.write(asked.encode())
                assert (await read_answer(reader))[0] == 200, "its newest one is served"
                crowd.append(reader)
            await come(lambda: sum(not is_closed(each) for each in crowd) == 4)
            for path, good in others:
                asked = get(f"{path}/instructions", f"X-Secret-Key: {good}")
                assert (await wire.ask(asked, "127.0.0.9"))[0] == 200
            await come(lambda: sum(not is_closed(each) for each in crowd) == 2)

    play(scene, 240)


def test_idle_bodies_of_one_host_do_not_delay_those_of_others(tmp_path: Path) -> None:
    async def scene() -> None:
        async with attacked(tmp_path) as (whole, wire):
            (evil, token), (good, other) = await enrol_many(whole, 2)
            head = post(f"{evil}/instructions", 8 * MIB, f"X-Secret-Key: {token}")
            for each in range(16):
                _, writer = await wire.open(f"127.0.0.{2 + each % 2}")
                writer.write(head.encode() + b"x" * (each % 2) * 300 * KIB)
                await writer.drain()
            limits = whole.running.app._app._app
            await come(lambda: limits.large["hosts"].total == 8 * MIB)
            reply = json.dumps({"step_type": "inventory", "step_id": "a", "output": "{}" + " " * 400 * KIB})
            sent = post(f"{good}/instructions", len(reply), f"X-Secret-Key: {other}") + reply
            async with asyncio.timeout(20):
                answers = await asyncio.gather(*(wire.ask(sent, "127.0.0.9") for _ in range(4)))
            assert Counter(status for status, _ in answers) == {204: 4}
            assert limits.small["hosts"].total <= 512 * KIB
            assert limits.large["hosts"].total == 8 * MIB

    play(scene, 240)


def test_bodies_have_to_come_with_some_speed(tmp_path: Path) -> None:
    async def scene() -> None:
        async with attacked(tmp_path, limits=LimitSettings(pace_s=0.5)) as (whole, wire):
            ((path, token),) = await enrol_many(whole, 1)
            key = f"X-Secret-Key: {token}"
            logs = f"{API}/clusters/{(await whole.ask('GET', '/clusters')).json[0]['id']}/logs?logs_type=host"
            logs += f"&host_id={path.rpartition('/')[2]}"
            for head in (post(f"{path}/instructions", 8 * MIB, key), post(logs, 8 * MIB, key)):
                reader, writer = await wire.open()
                writer.write(head.encode())

                async def drip(writer: asyncio.StreamWriter = writer) -> None:
                    while True:
                        writer.write(b"x" * 100)
                        await asyncio.sleep(0.05)

                task = asyncio.ensure_future(drip())
                status, answer = await read_answer(reader)
                task.cancel()
                assert status == 408
                assert b"slower than 64 KiB" in answer
            assert whole.running.service.bounds.uploads == 0

    play(scene, 120)


def test_bytes_of_bodies_are_bounded_and_who_waits_is_served(tmp_path: Path) -> None:
    room = BodyRoom(Room(each=4 * MIB, all=4 * MIB), Room(each=2 * MIB, all=2 * MIB))
    bodies = {**BODIES, "hosts": room}

    async def scene() -> None:
        async with attacked(tmp_path, limits=LimitSettings(bodies=bodies)) as (whole, wire):
            host, token, _ = await enrol(whole)
            reply = json.dumps({"step_type": "inventory", "step_id": "a", "output": "x" * MIB})
            head = post(f"{API}{host}/instructions", len(reply), f"X-Secret-Key: {token}")
            begun = []
            for _ in range(8):
                reader, writer = await wire.open()
                writer.write((head + reply[:-1]).encode())
                begun.append((reader, writer))
            budget = whole.running.app._app._app.large["hosts"]
            await come(lambda: budget.waiting == 7)
            assert budget.total == len(reply), "one fits; more of the others is not read before"
            assert (await whole.ask("GET", "/health")).status == 200
            assert (await whole.ask("GET", "/clusters")).status == 200, "people have room of their own"
            for _, writer in begun:
                writer.write(reply[-1].encode())
            answers = await asyncio.gather(*(read_answer(reader) for reader, _ in begun))
            assert Counter(status for status, _ in answers) == {400: 8}, "all were read, and are not JSON"

    play(scene, 240)


def login_of(whole: Whole) -> str:
    """A login with the code that is valid now."""
    code = whole.running.login.code
    assert code is not None
    body = json.dumps({"code": code.show(whole.running._clock().timestamp())})
    return post(f"{API}/login", len(body)) + body


def test_bodies_of_strangers_do_not_delay_a_login(tmp_path: Path) -> None:
    async def scene() -> None:
        patient = LimitSettings(stranger_body_s=100, pace_s=100)
        async with attacked(tmp_path, limits=patient) as (whole, wire):
            for each in range(200):
                _, writer = await wire.open(f"127.0.0.{2 + each % 50}")
                writer.write((CHUNKED if each % 2 else post(f"{API}/login", 8 * KIB)).encode())
            for source in ("127.0.0.2", "127.0.0.99"):
                async with asyncio.timeout(20):
                    assert (await wire.ask(login_of(whole), source))[0] == 201

    play(scene, 120)


def test_requests_of_strangers_do_not_hold_back_hosts_and_people_at_the_same_address(tmp_path: Path) -> None:
    async def scene() -> None:
        async with attacked(tmp_path) as (whole, wire):
            (evil, token), (good, other) = await enrol_many(whole, 2)

            async def flood(asked: str) -> None:
                reader, writer = await wire.open()
                found = Counter[int]()
                for _ in range(200):
                    writer.write(asked.encode() * 8)
                    for _ in range(8):
                        found[(await read_answer(reader))[0]] += 1
                    if found[429]:
                        return
                raise AssertionError(f"nothing was refused: {found}")

            await flood(get(f"{API}/login"))
            await flood(get(f"{API}/clusters", "Authorization: Bearer x.y.z"))
            await flood(get(f"{evil}/instructions", f"X-Secret-Key: {token}"))
            asked = get(f"{good}/instructions", f"X-Secret-Key: {other}")
            assert (await wire.ask(asked))[0] == 200, "another host, at the same address"
            assert (await wire.ask(login_of(whole)))[0] == 201
            assert (await whole.ask("GET", "/clusters")).status == 200

    play(scene, 120)


def test_logins_are_delayed_and_never_refused(tmp_path: Path) -> None:
    async def scene() -> None:
        rates = {**RATES, "logins": Rate(burst=5, per_second=10)}
        async with attacked(tmp_path, limits=LimitSettings(rates=rates)) as (whole, wire):
            body = json.dumps({"code": "AAAAA AAAAA"})
            wrong = post(f"{API}/login", len(body)) + body

            async def guess() -> list[int]:
                reader, writer = await wire.open()
                found = []
                for _ in range(3):
                    writer.write(wrong.encode())
                    found.append((await read_answer(reader))[0])
                return found

            crowd = asyncio.gather(*(guess() for _ in range(20)))
            await asyncio.sleep(0)
            async with asyncio.timeout(20):
                assert (await wire.ask(login_of(whole)))[0] == 201
            assert 429 not in {status for each in await crowd for status in each}

    play(scene, 120)


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


def test_writes_to_lost_connections_are_not_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        async with attacked(tmp_path):
            for text in ("SSL connection is closed", "socket.send() raised exception.", "something else"):
                logging.getLogger("asyncio").warning(text)

    play(scene, 120)
    assert [each.message for each in caplog.records if each.name == "asyncio"] == ["something else"]


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


class Media:
    """Answers every request with the same bytes."""

    def __init__(self, body: bytes, senders: int = 4) -> None:
        self.idle = asyncio.Event()
        self.pool = ThreadPoolExecutor(senders)
        self._means = Means(self.pool, patience_s=60)
        self._body = body

    async def let_end(self) -> None:
        self.pool.shutdown(cancel_futures=True)

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        parts: list[Part] = [self._body]
        try:
            return await send_parts(request, Head(200, (), len(self._body)), parts, self._means)
        except ClientGone as error:
            raise ConnectionResetError from error


@contextlib.asynccontextmanager
async def open_media(media: Media, **place: Any) -> AsyncIterator[Callable[..., Any]]:
    """A plain server of media; opens connections to it, with a small window, that are closed at the end."""
    listening = socket.create_server(("127.0.0.1", 0))
    found: list[socket.socket] = []

    async def connect(source: str, text: str = "") -> socket.socket:
        client = socket.socket()
        found.append(client)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.setblocking(False)
        client.bind((source, 0))
        await asyncio.get_running_loop().sock_connect(client, listening.getsockname())
        await asyncio.get_running_loop().sock_sendall(client, text.encode())
        return client

    async with open_server(
        media, Place(listening, **{"patience_s": 60, **place}), logging.getLogger("media"), media.let_end
    ):
        yield connect
        for each in found:
            each.close()


async def take(client: socket.socket, size: int) -> int:
    """Read so many bytes, or all until the connection ends; how many there were."""
    count, loop = 0, asyncio.get_running_loop()
    with contextlib.suppress(ConnectionError):
        while count < size and (piece := await loop.sock_recv(client, min(MIB, size - count))):
            count += len(piece)
    return count


def test_silent_connections_to_media_do_not_keep_others_out() -> None:
    rooms = {"strangers": Room(each=4, all=8), "transfers": Room(each=4, all=8)}

    async def scene() -> None:
        body = bytes(16 * MIB)
        async with open_media(Media(body), rooms=rooms) as connect:
            transfer = await connect("127.0.0.2", get("/image"))
            assert await take(transfer, 100) == 100
            for each in range(40):
                await connect(f"127.0.0.{3 + each % 4}", "GET / HT" if each % 2 else "")
            newcomer = await connect("127.0.0.9", get("/image"))
            async with asyncio.timeout(30):
                assert await take(newcomer, MIB) == MIB
                assert await take(transfer, 15 * MIB) == 15 * MIB, "a transfer that moves is not ended"

    play(scene, 120)


@pytest.mark.parametrize("sent", ["", "GET / HT"])
def test_connections_to_media_without_a_request_end(sent: str) -> None:
    async def scene() -> None:
        async with open_media(Media(b"x"), patience_s=0.3) as connect:
            client = await connect("127.0.0.2", sent)
            async with asyncio.timeout(30):
                assert await take(client, 1) == 0

    play(scene, 60)


def test_slow_clients_do_not_take_the_threads_that_send() -> None:
    async def scene() -> None:
        async with open_media(Media(bytes(64 * MIB), senders=2)) as connect:

            async def drip(client: socket.socket) -> None:
                for _ in range(10_000):  # It makes progress all the time, but little.
                    await asyncio.sleep(0.05)
                    assert await take(client, 32 * KIB)

            slow = [await connect("127.0.0.2", get("/image")) for _ in range(16)]
            tasks = [asyncio.ensure_future(drip(each)) for each in slow]
            await asyncio.sleep(1)
            async with asyncio.timeout(30):
                assert await take(await connect("127.0.0.9", get("/image")), 8 * MIB) == 8 * MIB
            assert not any(each.done() for each in tasks), "they are still served"
            for each in tasks:
                each.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    play(scene, 120)
