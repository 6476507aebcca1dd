# SPDX-License-Identifier: Apache-2.0
"""Servers in processes of their own for the benchmarks of the service, and a client that costs little.

Run as a program it is the baseline: a Starlette endpoint that parses what hosts send and answers 204.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.component.service.whole import small_release

from muster.service.auth.keys import load_key_ring
from muster.service.auth.personas import Grant, Persona, Scope
from muster.service.auth.tokens import Tokens

API = "/api/assisted-install/v2"
HOST = "127.0.0.1"


def cpu_of(pid: int) -> float:
    """What a process used so far, all threads of it, to the nanosecond."""
    return time.clock_gettime((~pid << 3) | 2)


def loop_cpu_of(pid: int) -> float:
    """What the first thread of a process used, which runs its loop."""
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0]) / 1e9


def children_of(pid: int) -> list[int]:
    """The processes that a process started."""
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(word) for word in path.read_text().split()]


def rss_of(pid: int) -> int:
    """Bytes of memory that a process has."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) << 10
    raise ValueError(f"process {pid} has no memory")


@dataclass(frozen=True)
class Server:
    """A process that serves, and the database that works for it."""

    pid: int
    port: int
    data: Path
    database_pid: int = 0

    @property
    def cpu_s(self) -> float:
        """What it used so far, with its database."""
        used = cpu_of(self.pid)
        for pid in children_of(self.database_pid) if self.database_pid else ():
            with contextlib.suppress(OSError):  # It ended just now.
                used += cpu_of(pid)
        return used

    @property
    def url(self) -> str:
        return f"https://{HOST}:{self.port}"

    def token(self, grant: Grant) -> str:
        """A token of the service's own; with its keys anybody can make them."""
        return Tokens(load_key_ring(self.data / "keys", os.urandom)).issue(grant)

    def user_token(self) -> str:
        return self.token(Grant(Persona.USER, Scope(), time.time() + 86400))

    def agent_token(self, infra_env_id: str) -> str:
        return self.token(Grant(Persona.MEDIUM, Scope(infra_env_id), time.time() + 86400))


@contextlib.contextmanager
def start_muster(folder: Path, database: str = "", database_pid: int = 0) -> Iterator[Server]:
    """`muster serve` in a folder, with a small release to install."""
    if not (folder / "store").exists():
        small_release(folder)
    argv = ["-m", "muster.cli", "serve", "--data", str(folder / "data"), "--listen", f"{HOST}:0"]
    argv += ["--release", str(folder / "store"), "--output", "json"]
    with _start(argv, {"MUSTER_DATABASE": database}) as (process, line):
        port = int(json.loads(line)["url"].rpartition(":")[2])
        yield Server(process.pid, port, folder / "data", database_pid)


@contextlib.contextmanager
def start_bare(data: Path) -> Iterator[Server]:
    """The baseline, with the certificate of a service that ran in a folder."""
    with _start([__file__, str(data / "keys")], {}) as (process, line):
        yield Server(process.pid, int(line), data)


@contextlib.contextmanager
def _start(argv: list[str], more: dict[str, str]) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process that says in its first line where it is."""
    env = {**os.environ, **more}
    with subprocess.Popen([sys.executable, *argv], stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            if not line:
                raise SystemExit(f"{argv} did not start")
            yield process, line
        finally:
            process.terminate()


@dataclass(frozen=True)
class Request:
    """A request, as it is sent."""

    method: str
    path: str
    token: str
    body: bytes = b""
    headers: str = ""

    def render(self) -> bytes:
        head = f"{self.method} {self.path} HTTP/1.1\r\nHost: {HOST}\r\n{self.headers}"
        if self.token:
            head += f"X-Secret-Key: {self.token}\r\n"
        if self.body:
            head += f"Content-Type: application/json\r\nContent-Length: {len(self.body)}\r\n"
        return head.encode() + b"\r\n" + self.body


def client_context() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


class Line:
    """One connection, kept open as an agent keeps it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.head = b""
        """Of the last answer."""

    async def send(self, request: bytes) -> tuple[int, bytes]:
        """Send a request; status and body of the answer."""
        self._writer.write(request)
        self.head = await self._reader.readuntil(b"\r\n\r\n")
        status = int(self.head[9:12])
        _, _, rest = self.head.partition(b"content-length:")
        size = int(rest.partition(b"\r")[0]) if rest else 0
        return status, await self._reader.readexactly(size) if size else b""

    def close(self) -> None:
        self._writer.close()


async def open_line(port: int, context: ssl.SSLContext) -> Line:
    return Line(*await asyncio.open_connection(HOST, port, ssl=context, limit=64 << 20))


@dataclass(frozen=True)
class Cost:
    """What one request took."""

    cpu_s: float
    wall_s: float


async def measure(server: Server, requests: Sequence[bytes], at_once: int) -> Cost:
    """Send requests over so many connections, each one after the other; what one took of the server.

    The connections are there before: each has had an answer.
    """
    context = client_context()
    lines = [await open_line(server.port, context) for _ in range(at_once)]
    for line in lines:
        await line.send(Request("GET", "/", "").render())
    waiting = iter(requests)

    async def work(line: Line) -> None:
        for request in waiting:
            status, body = await line.send(request)
            if not 200 <= status < 300:
                raise SystemExit(f"{request[:120]!r} was answered with {status}: {body[:300]!r}")

    cpu, began = server.cpu_s, time.monotonic()
    await asyncio.gather(*(work(line) for line in lines))
    wall = time.monotonic() - began
    used = server.cpu_s - cpu
    for line in lines:
        line.close()
    return Cost(used / len(requests), wall / len(requests))


def run(work: Any) -> Any:
    """In a loop that is as quick as that of the servers."""
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


def serve_bare(keys: Path) -> None:
    """Starlette on uvicorn, with the settings of the service and none of its work."""
    import socket

    import msgspec
    import uvicorn
    import uvloop
    from starlette.applications import Starlette
    from starlette.requests import Request as Asked
    from starlette.responses import Response
    from starlette.routing import Route

    from muster.model.wire.reports import StepReply
    from muster.service.edge.tls import make_context

    decoder = msgspec.json.Decoder(StepReply)

    async def take(request: Asked) -> Response:
        decoder.decode(await request.body())
        return Response(status_code=204)

    path = API + "/infra-envs/{infra_env_id}/hosts/{host_id}/instructions"
    app = Starlette(routes=[Route(path, take, methods=["POST"])])
    listening = socket.create_server((HOST, 0), backlog=2048)
    config = uvicorn.Config(
        app,
        loop="none",
        http="httptools",
        lifespan="off",
        log_config=None,
        access_log=False,
        ssl_context_factory=lambda *_: make_context(keys / "server.pem"),
    )
    print(listening.getsockname()[1], flush=True)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(uvicorn.Server(config).serve([listening]))


if __name__ == "__main__":
    serve_bare(Path(sys.argv[1]))
