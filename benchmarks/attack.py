# SPDX-License-Identifier: Apache-2.0
"""What strangers cost a service that they attack over loopback: memory, and how soon it answers /health.

Every line is one attack on the same service; the first is none, the baseline. `--source DIR` takes the
program of another source tree, to compare. Nothing but loopback addresses is used.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import signal
import ssl
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

API = "/api/assisted-install/v2"
SECONDS = 8.0
MIB = 1 << 20


@dataclass
class Target:
    """The service that is attacked."""

    port: int
    pid: int
    answers: Counter[str] = field(default_factory=Counter)

    def memory(self, kind: str) -> float:
        """MiB that the process has (VmRSS), or had at most (VmHWM)."""
        text = Path(f"/proc/{self.pid}/status").read_text()
        return next(int(line.split()[1]) for line in text.splitlines() if line.startswith(kind)) / 1024

    def forget_most(self) -> None:
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")

    async def open(self, source: str = "127.0.0.1") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port, ssl=trust(), local_addr=(source, 0))

    async def throw(self, data: bytes, source: str = "127.0.0.1", *, stays: bool = False) -> None:
        """Send something on a connection of its own; notes the status of the answer."""
        found = "nothing"
        with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
            reader, writer = await self.open(source)
            try:
                writer.write(data)
                async with asyncio.timeout(SECONDS if stays else 2):
                    found = (await reader.read(12)).decode("latin-1")[-3:] or "closed"
            finally:
                writer.transport.abort()
        self.answers[found] += 1


@cache
def trust() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def post(path: str, body: bytes, size: int = 0) -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {size or len(body)}\r\n\r\n".encode() + body


Attack = Callable[[Target, int], Awaitable[None]]


async def nothing(_target: Target, _number: int) -> None:
    await asyncio.sleep(0.1)


async def bodies(target: Target, _number: int) -> None:
    """8 MiB without a token; the last byte never comes."""
    path = f"{API}/infra-envs/a/hosts/b/instructions"
    await target.throw(post(path, b"x" * (8 * MIB - 1), 8 * MIB), stays=True)


async def silent(target: Target, number: int) -> None:
    """A connection that says nothing."""
    await target.throw(b"", f"127.0.{1 + number % 200}.1", stays=True)


async def codes(target: Target, number: int) -> None:
    """A wrong code from another address each time."""
    source = f"127.{1 + number // 62500 % 250}.{number // 250 % 250}.{1 + number % 250}"
    await target.throw(post(f"{API}/login", json.dumps({"code": "00000 00000"}).encode()), source)


async def garbage(target: Target, number: int) -> None:
    await target.throw(os.urandom(500), f"127.0.{number % 250}.1")


ATTACKS: dict[str, tuple[Attack, int]] = {
    "none": (nothing, 1),
    "bodies": (bodies, 60),
    "silent": (silent, 1500),
    "codes": (codes, 32),
    "garbage": (garbage, 32),
}
"""What is done, and how many do it at the same time."""


def probe(port: int, seconds: float) -> None:
    """In a process of its own: how long /health takes, each time on a new connection from another address."""

    async def look() -> None:
        took, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            begin = time.monotonic()
            try:
                async with asyncio.timeout(10):
                    reader, writer = await asyncio.open_connection(
                        "127.0.0.1", port, ssl=trust(), local_addr=("127.77.0.1", 0)
                    )
                    writer.write(b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
                    answer = await reader.read(12)
                writer.transport.abort()
                took.append(time.monotonic() - begin if answer.endswith(b"200") else 10.0)
            except (OSError, TimeoutError):
                took.append(10.0)
            await asyncio.sleep(0.05)
        took.sort()
        print(json.dumps([len(took), took[len(took) // 2], took[-1], sum(each >= 10 for each in took)]))

    asyncio.run(look())


async def run(target: Target, name: str) -> None:
    attack, crowd = ATTACKS[name]
    target.answers.clear()
    target.forget_most()
    before, end = target.memory("VmRSS"), time.monotonic() + SECONDS
    numbers = iter(range(1 << 40))

    async def one() -> None:
        while time.monotonic() < end:
            await attack(target, next(numbers))

    looking = await asyncio.create_subprocess_exec(
        sys.executable, __file__, "--probe", str(target.port), stdout=asyncio.subprocess.PIPE
    )
    tasks = [asyncio.ensure_future(one()) for _ in range(crowd)]
    await asyncio.sleep(SECONDS)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    out, _ = await looking.communicate()
    most = target.memory("VmHWM")
    count, middle, worst, missed = json.loads(out)
    each = sum(target.answers.values()) / SECONDS
    print(
        f"{name:<8} rss {before:6.0f} -> {most:6.0f} MiB   /health median {middle * 1000:6.1f} ms, "
        f"longest {worst * 1000:7.1f} ms, unanswered {missed} of {count}   "
        f"{each:6.0f} requests/s   answers {dict(target.answers.most_common(5))}"
    )


@contextlib.contextmanager
def service(source: Path) -> Iterator[Target]:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "muster.cli", "serve", "--listen", "127.0.0.1:0"]
        log = Path(folder) / "log"
        with log.open("wb") as errors:
            process = subprocess.Popen(
                [*command, "--data", f"{folder}/data", "-o", "json"],
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, "PYTHONPATH": str(source / "src")},
            )
            try:
                assert process.stdout is not None
                url = json.loads(process.stdout.readline())["url"]
                yield Target(int(url.rpartition(":")[2]), process.pid)
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait()
        print(f"log: {len(log.read_text(errors='replace').splitlines())} lines")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, default=Path(__file__).parents[1])
    parser.add_argument("--probe", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("attacks", nargs="*", default=list(ATTACKS))
    given = parser.parse_args()
    if given.probe:
        probe(given.probe, SECONDS)
        return
    with service(given.source) as target:
        for name in given.attacks:
            asyncio.run(run(target, name))


if __name__ == "__main__":
    main()
