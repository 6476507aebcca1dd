# SPDX-License-Identifier: Apache-2.0
"""Requests that are none: noise, halves, endless heads, bodies that are bombs. A seed decides which come."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections import Counter
from collections.abc import Callable
from random import Random

from tests.component.service.whole import API

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "BREW")
_HEADERS = ("Authorization", "X-Secret-Key", "Cookie", "Prefer", "If-None-Match", "Range", "Accept-Encoding")


class Garbage:
    """What is sent to a service, and what it says to it."""

    def __init__(self, port: int, context: ssl.SSLContext, token: str, infra_env_id: str, seed: int) -> None:
        self._port, self._context, self._token = port, context, token
        self._hosts = f"{API}/infra-envs/{infra_env_id}/hosts"
        self._random = Random(seed)
        self.sent = 0
        self.answers: Counter[int] = Counter()
        """By status; 0: it was not even HTTP, and the connection ended."""

    # Requests on connections of their own

    async def noise(self) -> None:
        """Bytes where a greeting of TLS should be."""
        await self._throw(self._bytes(self._random.randrange(1, 2000)), plain=True)

    async def broken(self) -> None:
        """Something over TLS that does not end as HTTP does, or never was any."""
        makers: tuple[Callable[[], bytes], ...] = (
            lambda: self._bytes(self._random.randrange(1, 5000)),
            lambda: self._request(b"{}")[: self._random.randrange(1, 120)],
            lambda: b"GET / HTTP/1.1\r\n" + b"X-A: " + b"a" * 200_000 + b"\r\n\r\n",
            lambda: b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: b\r\n" % each for each in range(5000)) + b"\r\n",
            lambda: b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
            lambda: b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n",
            lambda: b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\nx",
            lambda: b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nZZZ\r\nabc\r\n",
            lambda: b"POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            lambda: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            lambda: b"GET http://[::1 HTTP/1.1\r\nHost: \xff\xfe\r\n\r\n",
            lambda: b"GET / HTTP/1.1\nHost: a\n\n\x00\x00",
        )
        await self._throw(self._random.choice(makers)())

    async def _throw(self, data: bytes, *, plain: bool = False) -> None:
        """Send it, half-close where that is possible, and read whatever comes."""
        self.sent += 1
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
            async with asyncio.timeout(10):
                reader, writer = await asyncio.open_connection(
                    "127.0.0.1", self._port, ssl=None if plain else self._context
                )
                try:
                    writer.write(data)
                    await writer.drain()
                    async with asyncio.timeout(0.2):
                        self._note(await reader.read(100))
                finally:
                    writer.transport.abort()

    # Requests that are HTTP, many on one connection

    async def well_formed(self, count: int) -> None:
        """Whole requests with nonsense in them; a service that ends the connection is asked on a new one."""
        while count > 0:
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port, ssl=self._context)
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                while count > 0:
                    count -= 1
                    self.sent += 1
                    writer.write(self._request(self._body()))
                    if not await self._read_answer(reader):
                        break
            writer.transport.abort()

    async def _read_answer(self, reader: asyncio.StreamReader) -> bool:
        """Read one answer; whether another request may follow."""
        head = await reader.readuntil(b"\r\n\r\n")
        self._note(head)
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
        await reader.readexactly(int(fields.get(b"content-length", b"0")))
        return fields.get(b"connection") != b"close"

    def _note(self, answer: bytes) -> None:
        words = answer.split(b" ", 2)
        self.answers[int(words[1]) if len(words) > 1 and words[1].isdigit() else 0] += 1

    def _request(self, body: bytes) -> bytes:
        chance = self._random
        id = "-".join(self._bytes(size).hex() for size in (4, 2, 2, 2, 6))
        path = chance.choice(
            (self._hosts, f"{self._hosts}/{id}/instructions", f"{self._hosts}/{id}/progress")
        )
        method = chance.choice(("POST", "PUT"))
        extra = ""
        if chance.random() < 0.2:
            method, path = chance.choice(("POST", *_METHODS[:1], *_METHODS[2:5])), self._path()
        if chance.random() < 0.3:
            extra = f"{chance.choice(_HEADERS)}: {self._bytes(chance.randrange(200)).hex()}\r\n"
        elif chance.random() < 0.9:
            extra = f"X-Secret-Key: {self._token}\r\n"
        head = f"{method} {path} HTTP/1.1\r\nHost: a\r\n{extra}Content-Length: {len(body)}\r\n\r\n"
        return head.encode() + body

    def _path(self) -> str:
        words = ("v2", "clusters", "..", "%00", "%ff", "infra-envs", "//", "events?limit=x", "a" * 500)
        return f"/api/assisted-install/{'/'.join(self._random.choices(words, k=4))}"

    def _body(self) -> bytes:
        chance = self._random
        kinds: tuple[Callable[[], bytes], ...] = (
            lambda: self._bytes(chance.randrange(2000)),
            lambda: b"[" * 50_000,
            lambda: b"[" * 5_000 + b"]" * 5_000,
            lambda: b'{"a":' * 2_000 + b"1" + b"}" * 2_000,
            lambda: b'{"host_id":"' + b"a" * 100_000 + b'"}',
            lambda: b'{"host_id":1e999999}',
            lambda: b'{"host_id":' + b"9" * 10_000 + b"}",
            lambda: b'{"host_id":"\\ud800"}',
            lambda: json.dumps({f"k{number}": number for number in range(5000)}).encode(),
            lambda: json.dumps({"step_type": "inventory", "output": "{" * 1000, "exit_code": 0}).encode(),
            lambda: b'{"step_type":"inventory","output":"' + b"\\\\" * 20_000 + b'"}',
            lambda: b"{}",
            lambda: b"null",
        )
        return chance.choice(kinds)()

    def _bytes(self, count: int) -> bytes:
        return self._random.randbytes(count)


async def stall(port: int, context: ssl.SSLContext, count: int) -> list[asyncio.StreamWriter]:
    """Connections on which a request begins that never ends."""
    writers = []
    for number in range(count):
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        writer.write(b"POST / HTTP/1.1\r\nHost: a\r\n" + b"X-Slow: " * (number % 2))
        writers.append(writer)
    return writers
