# SPDX-License-Identifier: Apache-2.0
"""Pushing to registries that do not make it easy."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from muster.errors import ExternalError, MusterError
from muster.release.oci.client import Settings, open_client
from muster.release.oci.digest import digest_of
from muster.release.oci.manifest import OCI_CONFIG, OCI_LAYER, Descriptor, render_manifest
from muster.release.oci.reference import parse_reference
from muster.release.oci.transport import Limits
from muster.release.oci.trouble import Unreachable
from muster.release.oci.upload import Pushed
from tests.component.release.authority import Authority
from tests.component.release.meeting import LIMITS, Meeting, logins_for, patience_of, play
from tests.component.release.rough_registry import start_registry

DATA = bytes(range(256)) * 10_000
BLOB = Descriptor(OCI_LAYER, digest_of(DATA), len(DATA))


async def content() -> AsyncGenerator[bytes, None]:
    for start in range(0, len(DATA), 100_000):
        yield DATA[start : start + 100_000]


def test_what_is_there_is_not_sent() -> None:
    async def scene(at: Meeting) -> None:
        to = at.registry.reference("a/b", "v1")
        assert await at.client.push_blob(to, BLOB, content) is Pushed.SENT
        assert at.registry.blobs[BLOB.digest] == DATA
        assert await at.client.push_blob(to, BLOB, content) is Pushed.THERE
        other = at.registry.reference("c", "v1")
        assert await at.client.push_blob(other, BLOB, content, mount="a/b") is Pushed.MOUNTED
        at.registry.faults.refuses_mounts = True
        another = at.registry.reference("d", "v1")
        assert await at.client.push_blob(another, BLOB, content, mount="a/b") is Pushed.SENT

    play(scene)


def test_a_token_for_each_thing_that_is_done() -> None:
    async def scene(at: Meeting) -> None:
        at.registry.faults.login = "bearer"
        await at.client.push_blob(at.registry.reference("a/b"), BLOB, content)
        await at.client.push_blob(at.registry.reference("c"), BLOB, content, mount="a/b")
        asked = [path.partition("&")[2] for path in at.registry.paths() if path.startswith("/token")]
        assert asked == [
            "scope=repository%3Aa%2Fb%3Apull%2Cpush",
            "scope=repository%3Ac%3Apull%2Cpush",
            "scope=repository%3Ac%3Apull%2Cpush&scope=repository%3Aa%2Fb%3Apull",
        ]

    play(scene)


def test_a_token_that_ends_before_the_upload() -> None:
    async def scene(at: Meeting) -> None:
        at.registry.faults.login = "bearer"
        sent = 0

        async def forgetful() -> AsyncGenerator[bytes, None]:
            nonlocal sent
            sent += 1
            if sent == 1:
                at.registry.tokens = ["another"]
            async for chunk in content():
                yield chunk

        at.registry.faults.only, at.registry.faults.statuses = "digest=", [500]
        assert await at.client.push_blob(at.registry.reference("a"), BLOB, forgetful) is Pushed.SENT
        assert at.registry.blobs[BLOB.digest] == DATA

    play(scene)


def test_a_content_that_breaks_is_told_as_it_is() -> None:
    async def scene(at: Meeting) -> None:
        async def broken() -> AsyncGenerator[bytes, None]:
            yield DATA[:1000]
            raise ExternalError("the source is broken", hint="mend it")

        with pytest.raises(ExternalError, match=r"^the source is broken$"):
            await at.client.push_blob(at.registry.reference("a"), BLOB, broken)
        assert at.registry.blobs == {}

    play(scene)


def test_a_registry_that_finds_another_digest() -> None:
    async def scene(at: Meeting) -> None:
        async def other() -> AsyncGenerator[bytes, None]:
            yield bytes(len(DATA))

        with pytest.raises(Unreachable, match=rf"the blob {BLOB.digest} for .*/a: .* 400 \(DIGEST_INVALID\)"):
            await at.client.push_blob(at.registry.reference("a"), BLOB, other)

    play(scene)


def test_a_registry_that_changes_manifests() -> None:
    async def scene(at: Meeting) -> None:
        manifest = render_manifest(Descriptor(OCI_CONFIG, digest_of(b"{}"), 2), [BLOB])
        await at.client.push_manifest(at.registry.reference("a", "v1"), manifest)
        assert at.registry.manifests["a", "v1"] == (manifest.media_type, manifest.data)
        at.registry.faults.announced_digest = digest_of(b"")
        with pytest.raises(Unreachable, match=f"the registry took it for '{digest_of(b'')}'"):
            await at.client.push_manifest(at.registry.reference("a", "v1"), manifest)

    play(scene)


def test_uploads_that_go_elsewhere_carry_no_login() -> None:
    async def scene(at: Meeting) -> None:
        async with start_registry() as storage:
            at.registry.faults.login = "basic"
            at.registry.faults.location = f"{storage.url}/v2/a/blobs/uploads/"
            assert await at.client.push_blob(at.registry.reference("a"), BLOB, content) is Pushed.SENT
            assert storage.blobs[BLOB.digest] == DATA
            assert not [asked for asked in storage.asked if "authorization" in asked.headers]

    play(scene)


def test_a_registry_behind_a_proxy_that_speaks_tls_for_it(tmp_path: Path) -> None:
    async def go() -> None:
        authority = Authority(tmp_path)
        async with start_registry(authority.context()) as registry:
            registry.faults.login = "basic"
            registry.faults.location = f"http://{registry.host}/v2/a/blobs/uploads/"
            settings = Settings(
                authorities=(authority.pem,),
                logins=logins_for(registry),
                limits=LIMITS,
                patience=patience_of([]),
            )
            async with open_client(settings) as client:
                assert await client.push_blob(registry.reference("a"), BLOB, content) is Pushed.SENT

    asyncio.run(go())


def test_a_server_that_takes_no_more() -> None:
    """It reads the headers, and then nothing."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                while True:
                    first = await reader.readexactly(1)
                    if first == b"\x16":
                        return
                    head = first + await reader.readuntil(b"\r\n\r\n")
                    if head.startswith(b"PUT"):
                        await asyncio.Event().wait()
                    status = b"404 No" if head.startswith(b"HEAD") else b"202 Go on"
                    writer.write(b"HTTP/1.1 %s\r\nLocation: /u\r\nContent-Length: 0\r\n\r\n" % status)
                    await writer.drain()
        finally:
            writer.close()

    async def endless() -> AsyncGenerator[bytes, None]:
        while True:
            yield bytes(1 << 20)

    async def go() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        host = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        settings = Settings(
            insecure=frozenset({host}), limits=Limits(5, 0.5), patience=patience_of([], tries=1)
        )
        blob = Descriptor(OCI_LAYER, digest_of(b""), 1 << 40)
        async with open_client(settings) as client:
            with pytest.raises(
                MusterError, match=rf"the blob {blob.digest} for {host}/a: {host} did not answer in time"
            ):
                await client.push_blob(parse_reference(f"{host}/a"), blob, endless)
        server.close()

    asyncio.run(go())
