# SPDX-License-Identifier: Apache-2.0
"""Whatever a server sends, and however little of it is HTTP: the answer is an error of ours, and soon."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from collections.abc import AsyncIterator

import pytest

from muster.errors import MusterError
from muster.release.oci.client import Settings, open_client
from muster.release.oci.digest import digest_of
from muster.release.oci.manifest import OCI_CONFIG, OCI_LAYER, Descriptor, render_manifest
from muster.release.oci.reference import parse_reference
from muster.release.oci.transport import Limits
from tests.component.release.meeting import logins_of, patience_of

BLOB = Descriptor(OCI_LAYER, digest_of(b"x" * 100), 100)
MANIFEST = render_manifest(Descriptor(OCI_CONFIG, digest_of(b"{}"), 2), [BLOB]).data
GOOD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.oci.image.manifest.v1+json\r\nContent-Length: %d\r\n"
    b"Docker-Content-Digest: %s\r\n\r\n%s" % (len(MANIFEST), digest_of(MANIFEST).encode(), MANIFEST)
)


@contextlib.asynccontextmanager
async def saying(*replies: bytes) -> AsyncIterator[str]:
    """A server that answers with these bytes in turn, and hangs up."""
    left = list(replies)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                if await reader.readexactly(1) != b"G":
                    return  # TLS is tried first.
                head = await reader.readuntil(b"\r\n\r\n")
                if b"ET /v2/ " in head:
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                else:
                    writer.write(left.pop(0) if len(left) > 1 else left[0])
                await writer.drain()
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


def settings_for(host: str) -> Settings:
    return Settings(
        insecure=frozenset({host}), limits=Limits(2, 2), patience=patience_of([], 1), logins=logins_of(host)
    )


async def ask(host: str) -> None:
    """Everything that reads from a registry, one after another."""
    reference = parse_reference(f"{host}/a:v1")
    async with open_client(settings_for(host)) as client:
        found = await client.manifest(reference)
        async with contextlib.aclosing(client.blob(found.reference, BLOB)) as chunks:
            async for _ in chunks:
                pass
        await client.tags(reference)


REPLIES = [
    b"",
    b"\0" * 100,
    b"SSH-2.0-OpenSSH_9.2\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
    b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\nxx",
    b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nxxxx",
    b"HTTP/1.1 999 What\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    b"HTTP/1.1 301 Moved\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 301 Moved\r\nLocation: http://[::1\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 301 Moved\r\nLocation: http://x:99999/\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 301 Moved\r\nLocation: \xff\xfe\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 401 No\r\nWWW-Authenticate: Negotiate abc==\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 401 No\r\nWWW-Authenticate: Bearer\r\nContent-Length: 0\r\n\r\n",
    b'HTTP/1.1 401 No\r\nWWW-Authenticate: Bearer realm="http://[x"\r\nContent-Length: 0\r\n\r\n',
    b'HTTP/1.1 401 No\r\nWWW-Authenticate: Bearer realm="http:///"\r\nContent-Length: 0\r\n\r\n',
    b'HTTP/1.1 401 No\r\nWWW-Authenticate: Bearer realm="http://x:99999/"\r\nContent-Length: 0\r\n\r\n',
    b"HTTP/1.1 200 OK\r\n" + b"X-Long: " + b"x" * 200_000 + b"\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 14\r\n\r\n<html>a</html>",
    b"HTTP/1.1 206 Partial\r\nContent-Length: 2\r\n\r\n{}",
    b"HTTP/1.1 204 Nothing\r\n\r\n",
]


@pytest.mark.parametrize("reply", REPLIES, ids=range(len(REPLIES)))
@pytest.mark.parametrize("first", [True, False], ids=["manifest", "blob"])
def test_nonsense(reply: bytes, first: bool) -> None:
    async def go() -> None:
        async with saying(*([] if first else [GOOD]), reply) as host:
            with pytest.raises(MusterError) as caught:
                await ask(host)
            assert host in caught.value.message or "server sent" in caught.value.message
            assert caught.value.hint
            assert "hunter2" not in caught.value.message + caught.value.hint

    asyncio.run(go())


@pytest.mark.parametrize("tags", [b"", b"[]", b"{}", b'{"tags": 7}', b'{"tags": [1, null, "v1"]}'])
def test_lists_of_tags(tags: bytes) -> None:
    async def go() -> None:
        blob = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + b"x" * 100
        reply = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(tags), tags)
        async with saying(GOOD, blob, reply) as host:
            if tags in (b"", b"[]", b"{}"):
                with pytest.raises(MusterError, match=r"the list of tags of .* cannot be read"):
                    await ask(host)
            else:
                await ask(host)

    asyncio.run(go())


def test_damage() -> None:
    """Good answers with a few bytes changed: if one cannot be read, the error is still one of ours."""

    async def go() -> None:
        rng = random.Random(11)
        replies = []
        for _ in range(200):
            bad = bytearray(GOOD)
            for _ in range(rng.randrange(1, 8)):
                bad[rng.randrange(len(bad))] = rng.randrange(256)
            replies.append(bytes(bad))
        async with saying(*replies) as host, open_client(settings_for(host)) as client:
            for _ in replies:
                with contextlib.suppress(MusterError):
                    await client.manifest(parse_reference(f"{host}/a:v1"))

    asyncio.run(go())


def test_the_answer_itself_is_good() -> None:
    """Else the tests above would prove nothing."""

    async def go() -> None:
        blob = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + b"x" * 100
        tags = json.dumps({"tags": ["v1"]}).encode()
        reply = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(tags), tags)
        async with saying(GOOD, blob, reply) as host:
            await ask(host)

    asyncio.run(go())
