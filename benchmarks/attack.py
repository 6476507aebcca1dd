# SPDX-License-Identifier: Apache-2.0
"""What attackers cost a service over loopback: memory, and how long others wait.

    python benchmarks/attack.py [--source DIR] [ATTACK ...]

Every line is one attack on the same service; the first is none, the baseline. Meanwhile a process of its own
asks for /health, logs in with the code that the service prints, lets a host ask for its steps and reply, and
fetches 4 MiB of a medium: it prints the longest wait of each, and how many were answered. `--source DIR`
takes the program of another source tree, to compare. Nothing but loopback addresses is used. It takes less
than three minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

API = "/api/assisted-install/v2"
SECONDS = 7.0
"""Of each attack."""
PATIENCE_S = 10.0
"""A wait that is longer counts as unanswered."""
OWNER = "127.77.0.1"
"""The address of the owner, and of the host that has to be served."""
KIB, MIB = 1 << 10, 1 << 20
HOSTS = 12
ROOTFS = "/boot-artifacts/any/x86_64/rootfs.img"
CHUNKED = f"POST {API}/login HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n".encode()


@dataclass
class Target:
    """The service that is attacked."""

    port: int
    media_port: int
    pid: int
    folder: Path
    hosts: list[tuple[str, str]] = field(default_factory=list)
    """Path and token of each."""
    cluster: str = ""
    answers: Counter[str] = field(default_factory=Counter)

    def memory(self, kind: str) -> float:
        """MiB that the process has (VmRSS), or had at most (VmHWM)."""
        text = Path(f"/proc/{self.pid}/status").read_text()
        return next(int(line.split()[1]) for line in text.splitlines() if line.startswith(kind)) / 1024

    def forget_most(self) -> None:
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")

    async def open(
        self, source: str = "127.0.0.1", *, window: int = 0, is_plain: bool = False
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection; a small window lets the service wait soon."""
        client = socket.socket()
        client.setblocking(False)
        if window:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
        client.bind((source, 0))
        where = ("127.0.0.1", self.media_port if is_plain else self.port)
        try:
            await asyncio.get_running_loop().sock_connect(client, where)
        except BaseException:
            client.close()
            raise
        context = None if is_plain else trust()
        name = None if is_plain else "localhost"
        return await asyncio.open_connection(sock=client, ssl=context, server_hostname=name, limit=64 * KIB)

    async def throw(
        self, data: bytes, source: str = "127.0.0.1", *, stays: bool = False, **more: Any
    ) -> None:
        """Send something on a connection of its own; notes the status of the answer."""
        found = "nothing"
        with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
            reader, writer = await self.open(source, **more)
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


def post(path: str, body: bytes, size: int = 0, *more: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: a", f"Content-Length: {size or len(body)}", *more]
    return "\r\n".join([*lines, "", ""]).encode() + body


def get(path: str, *more: str) -> bytes:
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: a", *more, "", ""]).encode()


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
    source = f"127.{1 + number // 62500 % 50}.{number // 250 % 250}.{1 + number % 250}"
    await target.throw(post(f"{API}/login", json.dumps({"code": "00000 00000"}).encode()), source)


async def garbage(target: Target, number: int) -> None:
    await target.throw(os.urandom(500), f"127.0.{number % 250}.1")


async def host_connections(target: Target, number: int) -> None:
    """More connections than all hosts may have together, with the token of one host."""
    path, token = target.hosts[1]
    await asyncio.sleep(number / 1000)
    reader, writer = await target.open(f"127.0.0.{2 + number % 2}")
    with contextlib.suppress(OSError, asyncio.IncompleteReadError):
        writer.write(get(f"{path}/instructions", f"X-Secret-Key: {token}"))
        target.answers[(await reader.readuntil(b"\r\n\r\n"))[9:12].decode()] += 1
        await asyncio.sleep(SECONDS)
    writer.transport.abort()


async def host_bodies(target: Target, number: int) -> None:
    """16 bodies of 8 MiB of one host, of which nothing comes."""
    path, token = target.hosts[1]
    head = post(f"{path}/instructions", b"", 8 * MIB, f"X-Secret-Key: {token}")
    await target.throw(head, f"127.0.0.{2 + number % 2}", stays=True)


async def login_bodies(target: Target, number: int) -> None:
    """Logins whose body never comes, some of them from the address of the owner."""
    await target.throw(CHUNKED, OWNER if number % 20 == 0 else f"127.0.0.{2 + number % 20}", stays=True)


async def slow_readers(target: Target, number: int) -> None:
    """The largest answers that strangers get, and nothing of it is taken."""
    await take_nothing(target, f"127.0.0.{2 + number % 4}", get(largest_file()))


async def heads(target: Target, number: int) -> None:
    """Many large heads behind a request whose answer is not taken."""
    head = get("/health", *(f"x{each}: {'a' * 300}" for each in range(90)))
    await take_nothing(target, f"127.0.0.{2 + number % 4}", get("/openapi.json") + head * 8)


async def take_nothing(target: Target, source: str, data: bytes) -> None:
    reader, writer = await target.open(source, window=4096)
    reader._transport.pause_reading()  # type: ignore[attr-defined]
    writer.write(data)
    target.answers["sent"] += 1
    await asyncio.sleep(SECONDS)
    writer.transport.abort()


async def requests(target: Target, number: int) -> None:
    """As many requests as possible, from the address of the owner."""
    reader, writer = await target.open(OWNER)
    path = (f"{API}/login", f"{API}/clusters", "/health", "/login")[number % 4]
    end = time.monotonic() + SECONDS
    with contextlib.suppress(OSError, asyncio.IncompleteReadError):
        while time.monotonic() < end:
            writer.write(get(path) * 4)
            for _ in range(4):
                head = await reader.readuntil(b"\r\n\r\n")
                size = int(head.lower().partition(b"content-length:")[2].partition(b"\r")[0] or b"0")
                await reader.readexactly(size)
                target.answers[head[9:12].decode()] += 1
    writer.transport.abort()


async def downloads(target: Target, number: int) -> None:
    """Root file systems that are taken slowly, from the port of the interface."""
    await take_slowly(target, f"127.0.0.{2 + number % 4}", is_plain=False)


async def media_downloads(target: Target, number: int) -> None:
    """The same from the plain port of media."""
    await take_slowly(target, f"127.0.0.{2 + number % 4}", is_plain=True)


async def take_slowly(target: Target, source: str, *, is_plain: bool) -> None:
    reader, writer = await target.open(source, window=4096, is_plain=is_plain)
    end = asyncio.get_running_loop().time() + SECONDS
    with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
        writer.write(get(ROOTFS))
        target.answers[(await reader.read(12))[9:12].decode()] += 1
        async with asyncio.timeout_at(end):
            while True:
                await reader.readexactly(16 * KIB)
                await asyncio.sleep(0.05)
    writer.transport.abort()


async def media_silent(target: Target, number: int) -> None:
    """Connections to the plain port of media that say nothing."""
    await target.throw(b"", f"127.0.0.{2 + number % 4}", stays=True, is_plain=True)


async def uploads(target: Target, number: int) -> None:
    """Logs of other hosts that come byte by byte."""
    path, token = target.hosts[1 + number % (HOSTS - 1)]
    where = f"{API}/clusters/{target.cluster}/logs?logs_type=host&host_id={path.rpartition('/')[2]}"
    reader, writer = await target.open(f"127.0.0.{2 + number}")
    with contextlib.suppress(OSError, TimeoutError):
        writer.write(post(where, b"", MIB, f"X-Secret-Key: {token}"))
        end = time.monotonic() + SECONDS
        while time.monotonic() < end and not reader.at_eof():
            writer.write(b"x")
            await asyncio.sleep(0.1)
    target.answers["slow"] += 1
    writer.transport.abort()


ATTACKS: dict[str, tuple[Attack, int]] = {
    "none": (nothing, 1),
    "bodies": (bodies, 60),
    "silent": (silent, 1500),
    "codes": (codes, 32),
    "garbage": (garbage, 32),
    "host-connections": (host_connections, 4200),
    "host-bodies": (host_bodies, 16),
    "login-bodies": (login_bodies, 300),
    "slow-readers": (slow_readers, 500),
    "heads": (heads, 500),
    "requests": (requests, 8),
    "downloads": (downloads, 300),
    "media-silent": (media_silent, 2100),
    "media-downloads": (media_downloads, 100),
    "uploads": (uploads, HOSTS - 1),
}
"""What is done, and how many do it at the same time."""


@cache
def largest_file() -> str:
    """The largest file of the page, or what is there without a page."""
    assets = Path(__file__).parents[1] / "src/muster/service/web/assets"
    found = max(assets.glob("*.css.gz"), key=lambda path: path.stat().st_size, default=None)
    return "/openapi.json" if found is None else f"/assets/{found.name.removesuffix('.gz')}"


class Probe:
    """Asks one thing again and again, each time on a new connection; notes how long it takes."""

    def __init__(self, target: Target, source: str, *, is_plain: bool = False) -> None:
        self._target, self._source, self._is_plain = target, source, is_plain
        self.took: list[float] = []
        self.missed = 0

    async def ask(self, data: bytes, least: int = 0) -> bytes:
        """The answer, or the first bytes of it; empty when there is none in time."""
        begin, found = time.monotonic(), b""
        with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
            async with asyncio.timeout(PATIENCE_S):
                reader, writer = await self._target.open(self._source, is_plain=self._is_plain)
                try:
                    writer.write(data)
                    found = await (reader.readexactly(least) if least else reader.readuntil(b"\r\n\r\n"))
                finally:
                    writer.transport.abort()
        self.took.append(time.monotonic() - begin)
        return found

    async def check(self, data: bytes, statuses: tuple[bytes, ...] = (b"200",), least: int = 0) -> None:
        """Ask, and count it as missed if the answer has another status."""
        self.missed += (await self.ask(data, least))[9:12] not in statuses

    def show(self) -> tuple[float, int, int]:
        """The longest wait, how many were not answered, and how many there were."""
        return max(self.took, default=0.0), self.missed, len(self.took)


def probe(given: dict[str, Any]) -> None:
    """In a process of its own: what others get meanwhile."""
    target = Target(given["port"], given["media_port"], 0, Path(given["folder"]))
    path, token = given["host"]
    health, owner = Probe(target, "127.78.0.1"), Probe(target, OWNER)
    host, reply = Probe(target, OWNER), Probe(target, OWNER)
    media = Probe(target, "127.78.0.2", is_plain=True)
    key = f"X-Secret-Key: {token}"
    body = json.dumps({"step_type": "inventory", "step_id": "a", "output": "{}"}).encode()

    async def repeat(every_s: float, ask: Callable[[], Awaitable[None]]) -> None:
        end = time.monotonic() + SECONDS - 1
        while time.monotonic() < end:
            await ask()
            await asyncio.sleep(every_s)

    async def log_in() -> None:
        code = (target.folder / "code").read_text()
        body = json.dumps({"code": code}).encode()
        # After a login, the service makes the next code when it is asked for one again.
        await owner.check(post(f"{API}/login", body), (b"201", b"401"))

    async def run() -> None:
        await asyncio.sleep(1)
        await asyncio.gather(
            repeat(0.05, lambda: health.check(get("/health"))),
            repeat(0.3, log_in),
            repeat(0.3, lambda: host.check(get(f"{path}/instructions", key))),
            repeat(0.3, lambda: reply.check(post(f"{path}/instructions", body, 0, key), (b"204",))),
            repeat(0.3, lambda: media.check(get(ROOTFS), least=4 * MIB)),
        )
        print(json.dumps([each.show() for each in (health, owner, host, reply, media)]))

    asyncio.run(run())


async def run(target: Target, name: str) -> None:
    attack, crowd = ATTACKS[name]
    target.answers.clear()
    target.forget_most()
    before, end = target.memory("VmRSS"), time.monotonic() + SECONDS
    numbers = iter(range(1 << 40))

    async def one() -> None:
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                await attack(target, next(numbers))

    given = {
        "port": target.port,
        "media_port": target.media_port,
        "folder": str(target.folder),
        "host": target.hosts[0],
    }
    looking = await asyncio.create_subprocess_exec(
        sys.executable, __file__, "--probe", json.dumps(given), stdout=asyncio.subprocess.PIPE
    )
    tasks = [asyncio.ensure_future(one()) for _ in range(crowd)]
    await asyncio.sleep(SECONDS)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    out, _ = await looking.communicate()
    most = target.memory("VmHWM")
    shown = "  ".join(
        f"{what} {longest * 1000:6.0f} ms {count - missed}/{count}"
        for what, (longest, missed, count) in zip(
            ("/health", "login", "poll", "reply", "medium"), json.loads(out), strict=True
        )
    )
    answers = dict(target.answers.most_common(4))
    print(f"{name:<16} rss {before:4.0f} -> {most:4.0f} MiB  {shown}  {answers}", flush=True)
    await asyncio.sleep(0.5)


@contextlib.contextmanager
def service(source: Path) -> Iterator[Target]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [sys.executable, "-m", "muster.cli", "serve", "--listen", "127.0.0.1:0"]
        command += ["--media-listen", "127.0.0.1:0", "--data", f"{folder}/data", "-o", "json"]
        command += ["--release", make_release(folder), "--base-image", make_image(folder)]
        log = folder / "log"
        with log.open("wb") as errors:
            process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, "PYTHONPATH": str(source / "src"), "XDG_CACHE_HOME": f"{folder}/cache"},
            )
            try:
                assert process.stdout is not None
                line = process.stdout.readline()
                if not line:
                    raise SystemExit(log.read_text())
                said = json.loads(line)
                note_code(folder, said)
                threading.Thread(target=note_codes, args=(folder, process.stdout), daemon=True).start()
                port, media_port = (int(said[key].rpartition(":")[2]) for key in ("url", "mediaUrl"))
                target = Target(port, media_port, process.pid, folder)
                asyncio.run(enrol(target))
                yield target
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait()
        print(f"log: {len(log.read_text(errors='replace').splitlines())} lines")


def note_code(folder: Path, said: dict[str, str]) -> None:
    """The code is for the process that logs in."""
    (folder / "code.new").write_text(said["code"])
    (folder / "code.new").replace(folder / "code")


def note_codes(folder: Path, lines: Any) -> None:
    """Each login makes the service print the next code."""
    for line in lines:
        with contextlib.suppress(OSError):
            note_code(folder, json.loads(line))


def make_release(folder: Path) -> str:
    from tests.component.service.whole import small_release

    (folder / "parts").mkdir()
    small_release(folder / "parts")
    return str(folder / "parts/store")


def make_image(folder: Path) -> str:
    """A base image with a root file system of 64 MiB."""
    import discovery_media

    discovery_media.LARGE = 64 * MIB
    discovery_media.build_base(folder / "live.iso")
    return str(folder / "live.iso")


async def enrol(target: Target) -> None:
    """A cluster with some hosts; the first is the one that has to be served."""
    import aiohttp
    from tests.component.service.whole import Person

    from muster.client.host_key import HostKey
    from muster.model.host_key import KEY_HEADER
    from muster.release.look import choose_release, load_release
    from muster.release.store.store import open_store
    from muster.service.auth.keys import load_key_ring
    from muster.service.auth.personas import Grant, Persona
    from muster.service.auth.tokens import Tokens

    store = open_store(target.folder / "parts/store")
    version = load_release(store, choose_release(store, "", "amd64")).version
    tokens = Tokens(load_key_ring(target.folder / "data/keys", os.urandom))
    token = tokens.issue(Grant(Persona.USER, expires=time.time() + 3600, session="benchmark"))
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trust())) as session:
        person = Person(f"https://127.0.0.1:{target.port}", tokens, session, token, version)
        cluster = await person.make_cluster()
        infra_env = cluster["infra_env_id"]
        target.cluster = cluster["id"]
        for number in range(HOSTS):
            id, key = f"00000000-0000-4000-8000-{number:012}", HostKey(bytes([number + 1]) * 32)
            headers = {"X_Secret_Key": person.agent_token(infra_env), KEY_HEADER: key.public}
            got = await person.ask("POST", f"/infra-envs/{infra_env}/hosts", {"host_id": id}, **headers)
            path = f"{API}/infra-envs/{infra_env}/hosts/{id}"
            target.hosts.append((path, got.headers["x-muster-host-token"]))


def main() -> None:
    from muster.serving.listen import raise_file_limit

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--source", type=Path, default=Path(__file__).parents[1])
    parser.add_argument("--probe", type=json.loads, help=argparse.SUPPRESS)
    parser.add_argument("attacks", nargs="*", default=list(ATTACKS))
    given = parser.parse_args()
    if given.probe:
        probe(given.probe)
        return
    raise_file_limit()
    with service(given.source) as target:
        for name in given.attacks:
            asyncio.run(run(target, name))


if __name__ == "__main__":
    main()
