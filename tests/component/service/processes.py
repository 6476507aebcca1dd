# SPDX-License-Identifier: Apache-2.0
"""`muster serve` as a process of its own, to be killed and started again, and hosts that it serves."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiohttp

from muster.lab.sim.agent_loop import Settings
from muster.lab.sim.crew import make_loops
from muster.lab.sim.machines import Machine
from muster.lab.sim.over_http import Drive, HttpPort, Pace, Target, make_context, open_session
from muster.lab.sim.port import Got, Poll, Request
from muster.lab.sim.stand_ins import INGRESS
from muster.lab.sim.world import Surroundings, World
from muster.service.auth.keys import load_key_ring
from muster.service.auth.personas import Grant, Persona
from muster.service.auth.tokens import Tokens
from tests.component.service.whole import QUICK, Person, small_release

_LATER_S = 8 * 3600


class Served:
    """A service on a port that stays the same, whichever process has it."""

    def __init__(self, folder: Path, *options: str, data: Path | None = None) -> None:
        """In a folder of its own; keys and database are there, too, unless ``data`` says where."""
        self.data, self._options = data or folder / "data", options
        self._store = folder / "parts" / "store"
        self.port = free_port()
        self.log = folder / f"log-{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it; it is not up yet."""
        command = ["-m", "muster.cli", "serve", "--listen", f"127.0.0.1:{self.port}"]
        given = ["--data", str(self.data), "--release", str(self._store), *self._options]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, *command, *given], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    async def up(self) -> None:
        """Wait until somebody answers there."""
        while True:
            assert self.process is not None
            assert self.process.poll() is None, self.log.read_text()
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                writer.close()
                return
            await asyncio.sleep(0.01)

    def kill(self) -> None:
        """As if the power were lost, as far as the process is concerned."""
        self.end(signal.SIGKILL)

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal; the status that it ended with."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(30)

    async def ended(self) -> int:
        """Wait until it has ended by itself; its status."""
        assert self.process is not None
        return await asyncio.to_thread(self.process.wait, 30)

    @property
    def resident_bytes(self) -> int:
        """How much memory it has now."""
        assert self.process is not None
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGESIZE")

    def said(self) -> str:
        """All that it printed, in all its lives; never a traceback."""
        text = self.log.read_text()
        assert "Traceback" not in text, text
        return text


@contextmanager
def served(folder: Path, *options: str, data: Path | None = None) -> Iterator[Served]:
    """A service that is started, and killed at the end if it still runs."""
    make_release(folder)
    service = Served(folder, *options, data=data)
    service.start()
    try:
        yield service
    finally:
        if service.process is not None and service.process.poll() is None:
            service.kill()


def make_release(folder: Path) -> str:
    """A release in a folder, once; its version."""
    parts = folder / "parts"
    if not parts.exists():
        parts.mkdir()
        (folder / "version").write_text(small_release(parts).version)
    return (folder / "version").read_text()


def free_port() -> int:
    """A port that no connection of others gets by chance while nobody listens on it."""
    chance = random.SystemRandom()
    while True:
        port = chance.randrange(20_000, 30_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@asynccontextmanager
async def person(folder: Path, service: Served) -> AsyncIterator[Person]:
    """One who is logged in at such a service."""
    await service.up()
    tokens = Tokens(load_key_ring(service.data / "keys", os.urandom))
    grant = Grant(Persona.USER, expires=time.time() + _LATER_S, session="tests")
    connector = aiohttp.TCPConnector(ssl=make_context(Target(url="", infra_env_id="", insecure=True)))
    async with aiohttp.ClientSession(connector=connector) as session:
        yield Person(service.url, tokens, session, tokens.issue(grant), make_release(folder))


class Witness:
    """Notes everything that hosts were answered; each host asks one of several services."""

    def __init__(self, ports: Sequence[HttpPort]) -> None:
        self.noted: list[tuple[str, Request, Got]] = []
        self.counts: Counter[int] = Counter()
        self._ports = ports
        self._at: dict[str, int] = {}
        self._came = asyncio.Event()
        self.polling = self.flying = 0
        """How many hosts ask what to do, and how many requests there are in all, at this moment."""

    @property
    def answered(self) -> int:
        """How many answers there were, whatever they said."""
        return self.counts.total() - self.counts[0]

    async def quiet(self, hosts: int) -> None:
        """Wait until so many hosts have nothing to do, and wait for it."""
        answered = -1
        while not (self.polling == self.flying == hosts and answered == self.answered):
            answered = self.answered
            await asyncio.sleep(1)

    async def after(self, answers: int, patience_s: float) -> None:
        """Wait for so many more answers, but not for ever."""
        end = self.answered + answers
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                while self.answered < end:
                    self._came.clear()
                    await self._came.wait()

    async def send(self, host_id: str, request: Request) -> Got:
        at = self._at.setdefault(host_id, len(self._at))
        self.polling += isinstance(request, Poll)
        self.flying += 1
        try:
            got = await self._ports[at % len(self._ports)].send(host_id, request)
        finally:
            self.polling -= isinstance(request, Poll)
            self.flying -= 1
        if got.status == 0:
            self._at[host_id] = at + 1  # As one who shares the load would: another one may be there.
        self.counts[got.status] += 1
        self._came.set()
        self.noted.append((host_id, request, got))
        return got


@asynccontextmanager
async def watched_hosts(
    person: Person,
    infra_env_id: str,
    machines: list[Machine],
    *urls: str,
    pace: Pace = QUICK,
    wait_s: int = 5,
) -> AsyncIterator[tuple[Drive, Witness]]:
    """Modelled hosts that run until the body ends, spread over the services at some URLs."""
    targets = [
        Target(
            url=url,
            infra_env_id=infra_env_id,
            token=person.agent_token(infra_env_id),
            insecure=True,
            wait_s=wait_s,
        )
        for url in urls or (person.url,)
    ]
    world = World(Surroundings(start=time.time()), machines)
    async with open_session(targets[0]) as session:
        own: dict[str, str] = {}
        witness = Witness([HttpPort(session, target, own) for target in targets])
        loops = make_loops(machines, world, 1, _habits(pace))
        drive = Drive(witness, loops, pace, world.around.start)
        task = asyncio.ensure_future(drive.run())
        try:
            yield drive, witness
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def _habits(pace: Pace) -> Settings:
    """A service is away for a second in any world; that is no reason to give up in one that goes quicker."""
    waits = pace.waits / pace.work
    return Settings(waits=waits, reply_tries=1000, report_tries=10_000, give_up_s=1e6)


@asynccontextmanager
async def running(work: Coroutine[Any, Any, None]) -> AsyncIterator[asyncio.Task[None]]:
    """Something that goes on beside the body; when it fails, the body does."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(work)
        yield task
        task.cancel()


async def install(person: Person, cluster: dict[str, Any]) -> dict[str, Any]:
    """From hosts that come up to an installed cluster, by those who ask until they are answered."""
    id = cluster["id"]
    path = f"/clusters/{id}"
    await until(person, id, "ready")
    await insist(person, id, "installing", ("POST", f"{path}/actions/install"))
    await until(person, id, "finalizing")
    agent = await _token_of_controller(person, id)
    report = {"name": "console", "status": "available", "status_info": "up"}
    await insist(person, id, "", ("PUT", f"{path}/monitored-operators", report), X_Secret_Key=agent)
    done = ("POST", f"{path}/uploads/ingress-cert", INGRESS)
    await insist(person, id, "installed", done, X_Secret_Key=agent)
    return await until(person, id, "installed")


async def _token_of_controller(person: Person, id: str) -> str:
    while True:
        with contextlib.suppress(aiohttp.ClientError, OSError, AssertionError, KeyError):
            return await person.controller_token(id)
        await asyncio.sleep(0.1)


async def until(person: Person, id: str, status: str) -> dict[str, Any]:
    """The cluster as soon as it is in a state, whether the service is there all the time or not."""
    while True:
        with contextlib.suppress(aiohttp.ClientError, OSError):
            found = await _look(person, id)
            if found.get("status") == status:
                return found
        await asyncio.sleep(0.05)


async def _look(person: Person, id: str) -> dict[str, Any]:
    """The cluster, or nothing of it from a service whose database is away."""
    got = await person.ask("GET", f"/clusters/{id}")
    assert got.status in (200, 503), got.body
    found: dict[str, Any] = got.json if got.status == 200 else {}
    return found


async def insist(person: Person, id: str, status: str, request: tuple[Any, ...], **headers: str) -> None:
    """Ask until it is done, which one may never be told: then the cluster's state tells."""
    while True:
        with contextlib.suppress(aiohttp.ClientError, OSError):
            got = await person.ask(*request, **headers)
            if got.status < 300:
                return
            if status and status in (await _look(person, id)).get("status", ""):
                return
            assert got.status in (409, 503), got.body
        await asyncio.sleep(0.05)
