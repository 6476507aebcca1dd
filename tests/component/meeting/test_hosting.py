# SPDX-License-Identifier: Apache-2.0
"""Hosts join although others keep many connections open and say nothing."""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path

import pytest

from muster.agent.meeting.code import derive_key, make_code
from muster.agent.meeting.hosting import Offer, serve_joining
from muster.agent.meeting.joining import Door, NotYet, fetch_papers, meet
from muster.agent.meeting.place import Papers
from muster.agent.meeting.wire import LOOK, Look, Question, authority_der, render_line
from muster.errors import ExternalError
from muster.service.edge.tls import Identity, Moment, make_identity
from muster.serving.listen import Endpoint, open_socket

CODE = make_code(lambda count: bytes(range(count)))
PAPERS = Papers(
    environment="NODE_ZERO_IP=192.0.2.1\nCLUSTER_ID=a\nINFRA_ENV_ID=b\n", token="t", authority="a"
)


@pytest.fixture
def identity(tmp_path: Path) -> Identity:
    return make_identity(tmp_path, ("127.0.0.1",), Moment(datetime.now(UTC), os.urandom))


def free_port() -> int:
    with open_socket(Endpoint("127.0.0.1", 0), "a test") as found:
        return int(found.getsockname()[1])


@contextlib.asynccontextmanager
async def serving(identity: Identity) -> AsyncIterator[Door]:
    key = await asyncio.to_thread(derive_key, CODE, authority_der(identity.authority_pem))
    offer = Offer(identity.authority_pem, key, "first", lambda: PAPERS, Look)
    port = free_port()
    async with serve_joining(offer, identity.path, port):
        yield Door(ip_address("127.0.0.1"), port)


async def end(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


def addresses(count: int) -> Iterator[str]:
    return (f"127.0.0.{number + 2}" for number in range(count))


@pytest.mark.parametrize("with_tls", [False, True], ids=["no TLS", "TLS"])
def test_a_host_joins_beside_many_that_say_nothing(identity: Identity, with_tls: bool) -> None:
    async def scene() -> None:
        async with serving(identity) as door, contextlib.AsyncExitStack() as stack:
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            for address in addresses(16):
                for _ in range(4):
                    _, writer = await asyncio.open_connection(
                        "127.0.0.1", door.port, local_addr=(address, 0), ssl=context if with_tls else None
                    )
                    stack.push_async_callback(end, writer)
            bond = await meet(door, CODE)
            assert await fetch_papers(bond) == PAPERS

    asyncio.run(asyncio.wait_for(scene(), 60))


def test_a_connection_that_is_closed_is_worth_another_try() -> None:
    """As of a rendezvous host that has too many callers."""

    async def scene() -> None:
        async def close(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.close()

        server = await asyncio.start_server(close, "127.0.0.1", 0)
        async with server:
            door = Door(ip_address("127.0.0.1"), server.sockets[0].getsockname()[1])
            with pytest.raises(NotYet):
                await meet(door, CODE)

    asyncio.run(asyncio.wait_for(scene(), 60))


def test_a_connection_that_is_closed_after_tls_is_worth_another_try(identity: Identity) -> None:
    async def scene() -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(identity.path)
        answer = b""

        async def close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readline()
            writer.write(answer)
            writer.close()

        server = await asyncio.start_server(close, "127.0.0.1", 0, ssl=context)
        async with server:
            door = Door(ip_address("127.0.0.1"), server.sockets[0].getsockname()[1])
            with pytest.raises(NotYet, match="closed the connection without an answer"):
                await meet(door, CODE)
            answer = b"HTTP/1.1 400 Bad Request\r\n\r\n"
            with pytest.raises(ExternalError, match="is no rendezvous host") as caught:
                await meet(door, CODE)
            assert not isinstance(caught.value, NotYet)

    asyncio.run(asyncio.wait_for(scene(), 60))


def test_wrong_codes_write_few_lines(identity: Identity, caplog: pytest.LogCaptureFixture) -> None:
    """The penalty of a second does not slow down who does not wait for the answer."""

    async def ask_wrongly(door: Door, address: str) -> None:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection(
                "127.0.0.1", door.port, local_addr=(address, 0), ssl=context
            )
            writer.write(render_line(Question(ask=LOOK, proof="a" * 64)))
            await asyncio.sleep(0.02)
            writer.transport.abort()

    async def scene() -> None:
        async with serving(identity) as door:
            for address in addresses(60):
                await ask_wrongly(door, address)

    asyncio.run(asyncio.wait_for(scene(), 60))
    found = [each for each in caplog.records if "wrong join code" in each.getMessage()]
    assert len(found) == 1, "all of them are of one network"
