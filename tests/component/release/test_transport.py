# SPDX-License-Identifier: Apache-2.0
"""TLS with an authority of our own, registries without it, and proxies."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from muster.errors import UserError
from muster.release.oci.client import Client, Settings, open_client
from muster.release.oci.proxies import Proxy
from muster.release.oci.reference import parse_reference
from muster.release.oci.transport import Limits
from muster.release.oci.trouble import Unreachable
from tests.component.release.authority import Authority
from tests.component.release.meeting import LIMITS, logins_for, patience_of
from tests.component.release.rough_registry import RoughRegistry, start_registry

LAYER = bytes(200_000)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@contextlib.asynccontextmanager
async def client_of(**more: Any) -> AsyncIterator[Client]:
    async with open_client(Settings(**{"limits": LIMITS, "patience": patience_of([]), **more})) as client:
        yield client


async def fetch(client: Client, registry: RoughRegistry, name: str = "") -> None:
    """An image from a registry, which has it."""
    manifest = registry.add_image("a", "v1", [LAYER])
    found = await client.manifest(parse_reference(f"{name or registry.host}/a:v1"))
    assert found.manifest == manifest
    size = 0
    async with contextlib.aclosing(client.blob(found.reference, manifest.layers[0])) as chunks:
        async for chunk in chunks:
            size += len(chunk)
    assert size == len(LAYER)


def test_an_authority_of_the_site(authority: Authority) -> None:
    async def go() -> None:
        async with start_registry(authority.context()) as registry:
            registry.faults.login = "bearer"
            async with client_of(authorities=(authority.pem,), logins=logins_for(registry)) as client:
                await fetch(client, registry)
            async with client_of() as client:
                with pytest.raises(
                    Unreachable, match=r"the certificate of 127.0.0.1:\d+ is not trusted"
                ) as caught:
                    await fetch(client, registry)
                assert "--ca-bundle" in caught.value.hint
            async with client_of(insecure=frozenset({registry.host}), logins=logins_for(registry)) as client:
                await fetch(client, registry)

    asyncio.run(go())


def test_an_authority_that_is_none() -> None:
    async def go() -> None:
        with pytest.raises(UserError, match="no certificate that can be read"):
            async with client_of(authorities=("-----BEGIN CERTIFICATE-----\nxx\n",)):
                pytest.fail("it was taken")

    asyncio.run(go())


def test_tls_is_not_left(authority: Authority) -> None:
    async def go() -> None:
        async with start_registry(authority.context()) as registry, start_registry() as plain:
            plain.add_blob(LAYER)
            registry.faults.elsewhere = plain.url
            async with client_of(authorities=(authority.pem,)) as client:
                with pytest.raises(Unreachable, match="from HTTPS to something that is not"):
                    await fetch(client, registry)
            assert plain.asked == []
            registry.faults.elsewhere = ""
            registry.faults.login, registry.faults.realm = "bearer", f"{plain.url}/token"
            async with client_of(authorities=(authority.pem,), logins=logins_for(registry)) as client:
                with pytest.raises(Unreachable, match="names a token server that cannot be used"):
                    await fetch(client, registry)
            assert plain.asked == []

    asyncio.run(go())


def test_without_tls_only_where_that_is_allowed() -> None:
    async def go() -> None:
        async with start_registry() as registry:
            registry.faults.login = "basic"
            async with client_of(logins=logins_for(registry)) as client:
                with pytest.raises(Unreachable, match=r"TLS with 127.0.0.1:\d+ failed"):
                    await fetch(client, registry)
            assert registry.asked == []

    asyncio.run(go())


class Gateway:
    """A proxy: it tunnels to wherever it is asked, or asks for itself, but all ends up at one registry."""

    def __init__(self, registry: RoughRegistry, login: str = "") -> None:
        self._registry, self._login = registry, login
        self.asked: list[str] = []
        self.silent = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                await self._serve(reader, writer)
        finally:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.asked.append(head.partition("\r\n")[0])
        if self.silent:
            await reader.read()
        if f"Proxy-Authorization: {self._login}" not in head and self._login:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            return
        port = int(self._registry.host.rpartition(":")[2])
        there_reader, there = await asyncio.open_connection("127.0.0.1", port)
        if head.startswith("CONNECT"):
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        else:
            there.write(head.encode())
        await asyncio.gather(_pump(reader, there), _pump(there_reader, writer))


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
    finally:
        writer.close()


@contextlib.asynccontextmanager
async def start_gateway(registry: RoughRegistry, login: str = "") -> AsyncIterator[tuple[Gateway, str]]:
    gateway = Gateway(registry, login)
    server = await asyncio.start_server(gateway.serve, "127.0.0.1", 0)
    try:
        yield gateway, f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


PASSWORD = "p%40ss w%C3%B6rd"
LOGIN = "Basic " + base64.b64encode("joe:p@ss wörd".encode()).decode()


def test_https_by_a_proxy(authority: Authority) -> None:
    async def go() -> None:
        async with (
            start_registry(authority.context()) as registry,
            start_gateway(registry, LOGIN) as (gateway, address),
        ):
            registry.faults.login = "basic"
            proxy = Proxy(https=f"http://joe:{PASSWORD}@{address}")
            logins = logins_for(registry)
            async with client_of(authorities=(authority.pem,), proxy=proxy, logins=logins) as client:
                with pytest.raises(Unreachable, match="wants a login"):
                    await fetch(client, registry, "registry.example.com")
                await fetch(client, registry)
            assert gateway.asked[0] == "CONNECT registry.example.com:443 HTTP/1.1"
            assert not [asked for asked in registry.asked if "proxy-authorization" in asked.headers]
            for broken in (Proxy(https=f"http://joe:wrong@{address}"), Proxy(https=f"http://{address}")):
                async with client_of(authorities=(authority.pem,), proxy=broken) as client:
                    with pytest.raises(Unreachable, match=rf"the proxy {address} refused .*: 407") as caught:
                        await fetch(client, registry)
                    assert "HTTPS_PROXY" in caught.value.hint
                    assert "wrong" not in caught.value.message

    asyncio.run(go())


def test_http_by_a_proxy() -> None:
    async def go() -> None:
        async with start_registry() as registry, start_gateway(registry, LOGIN) as (gateway, address):
            proxy = Proxy(http=f"joe:{PASSWORD}@{address}", https="127.0.0.1:1")
            insecure = frozenset({"registry.example.com:81"})
            async with client_of(proxy=proxy, insecure=insecure) as client:
                await fetch(client, registry, "registry.example.com:81")
            assert gateway.asked[0] == "GET http://registry.example.com:81/v2/ HTTP/1.1"
            assert not [asked for asked in registry.asked if "authorization" in asked.headers]

    asyncio.run(go())


def test_no_proxy() -> None:
    async def go() -> None:
        async with start_registry() as registry:
            proxy = Proxy("http://127.0.0.1:1", "http://127.0.0.1:1", "example.com,127.0.0.0/8")
            async with client_of(proxy=proxy, insecure=frozenset({registry.host})) as client:
                await fetch(client, registry)
            async with client_of(proxy=Proxy(https="http://127.0.0.1:1")) as client:
                with pytest.raises(Unreachable, match=r"cannot reach .* by the proxy 127.0.0.1:1"):
                    await fetch(client, registry)

    asyncio.run(go())


def test_a_proxy_that_says_nothing(authority: Authority) -> None:
    async def go() -> None:
        async with start_registry() as registry, start_gateway(registry) as (gateway, address):
            gateway.silent = True
            limits = Limits(connect_s=0.2, stall_s=0.2)
            async with client_of(proxy=Proxy(https=f"http://{address}"), limits=limits) as client:
                with pytest.raises(Unreachable, match=rf"did not answer in time by the proxy {address}"):
                    await fetch(client, registry)

    asyncio.run(go())
