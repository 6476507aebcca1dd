# SPDX-License-Identifier: Apache-2.0
"""Modelled hosts against a service over sockets: any number of them in one process, over one session."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import ssl
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol

import aiohttp
import msgspec

from muster.client.host_key import HostKey
from muster.client.target import BASE_PATH, HOST_TOKEN
from muster.errors import cannot
from muster.lab.sim.agent_loop import AgentLoop, Settings
from muster.lab.sim.crew import make_loops
from muster.lab.sim.machines import Machine
from muster.lab.sim.port import NOTHING, Got, Poll, Register, Reply, Report, Request, SendLogs, TellLogs
from muster.lab.sim.world import World
from muster.model.host_key import CHALLENGE_HEADER, KEY_HEADER, PROOF_HEADER
from muster.model.wire.host import HostCreateParams, HostRegistrationResponse, LogsProgressParams
from muster.model.wire.steps import NextStepCmdRequest, Steps

_ENCODER: Final = msgspec.json.Encoder()
_STEPS: Final = msgspec.json.Decoder(Steps)
_REGISTERED: Final = msgspec.json.Decoder(HostRegistrationResponse)
_COMMAND: Final = msgspec.json.Decoder(NextStepCmdRequest)
_JSON: Final = {"Content-Type": "application/json"}


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """The service, and how it is talked to."""

    url: str
    """Without the path of the interface."""
    infra_env_id: str
    token: str = ""
    tokens: Mapping[str, str] = MappingProxyType({})
    """Those of single hosts, by host id."""
    enrols: bool = True
    """Whether a host takes the token that it is given when it registers; agents of others do not know it."""
    ca_file: Path | None = None
    insecure: bool = False
    """Take any certificate."""
    wait_s: int = 0
    """How long the service may hold a poll when it has nothing to say; 0 to be answered at once."""
    timeout_s: float = 60.0
    connections: int = 0
    """How many at once; 0 for as many as are needed."""


class Pace(msgspec.Struct, frozen=True):
    """How much quicker than in the world things happen."""

    work: float = 1.0
    """What the durations of the hosts' work are multiplied with."""
    waits: float = 1.0
    """What the waits that the service asks for, and those after errors, are multiplied with."""


def make_context(target: Target) -> ssl.SSLContext | bool:
    """How the service's certificate is judged."""
    if target.insecure:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    if target.ca_file is None:
        return True
    try:
        return ssl.create_default_context(cafile=target.ca_file)
    except OSError as error:
        raise cannot("use", target.ca_file, error) from error


@contextlib.asynccontextmanager
async def open_session(target: Target) -> AsyncIterator[aiohttp.ClientSession]:
    """One session for all hosts."""
    timeout = aiohttp.ClientTimeout(total=target.timeout_s + target.wait_s)
    connector = aiohttp.TCPConnector(limit=target.connections, ssl=make_context(target))
    async with aiohttp.ClientSession(
        timeout=timeout, connector=connector, cookie_jar=aiohttp.DummyCookieJar()
    ) as session:
        yield session


class HttpPort:
    """The requests of agents as HTTP."""

    def __init__(
        self, session: aiohttp.ClientSession, target: Target, own: dict[str, str] | None = None
    ) -> None:
        self.counts: Counter[int] = Counter()
        """Answers by status; 0 for none."""
        self._session = session
        self._target = target
        self._own: dict[str, str] = {} if own is None else own
        """The tokens that hosts were given, by host id; several ways to one service share them."""
        self._prefer = {"Prefer": f"wait={target.wait_s}"} if target.wait_s else {}
        self._base = target.url.rstrip("/") + BASE_PATH + "/v2"
        self._hosts = f"{self._base}/infra-envs/{target.infra_env_id}/hosts"
        self._infra_env_id = target.infra_env_id

    def _headers(self, host_id: str) -> dict[str, str]:
        token = self._own.get(host_id) or self._target.tokens.get(host_id, self._target.token)
        return {"X-Secret-Key": token} if token else {}

    async def send(self, host_id: str, request: Request) -> Got:
        """Send a request, and tell what came of it."""
        try:
            got = await self._call(host_id, request)
        except (aiohttp.ClientError, OSError, TimeoutError, msgspec.DecodeError):
            got = NOTHING
        self.counts[got.status] += 1
        return got

    async def _call(self, host_id: str, request: Request) -> Got:
        match request:
            case Poll(offset):
                return await self._poll(host_id, int(time.time() + offset))
            case Register(params):
                return await self._register(params)
            case Reply(reply):
                return await self._give(host_id, "POST instructions", reply)
            case Report(progress):
                return await self._give(host_id, "PUT progress", progress)
            case TellLogs(state):
                return await self._give(host_id, "PUT logs-progress", LogsProgressParams(logs_state=state))
            case SendLogs(cluster_id, archive):
                return await self._upload(host_id, cluster_id, archive)

    async def _register(self, params: HostCreateParams) -> Got:
        """Register with the token of the medium and the host's key; prove the key where that is asked for."""
        self._own.pop(params.host_id, None)
        headers = {**self._headers(params.host_id), **_JSON}
        key = _key_of(params.host_id) if self._target.enrols else None
        if key is not None:
            headers[KEY_HEADER] = key.public
        got, challenge = await self._try_to_register(params, headers)
        if key is not None and challenge:
            proof = key.prove(self._infra_env_id, params.host_id, challenge)
            headers |= {CHALLENGE_HEADER: challenge, PROOF_HEADER: proof}
            got, _ = await self._try_to_register(params, headers)
        return got

    async def _try_to_register(self, params: HostCreateParams, headers: dict[str, str]) -> tuple[Got, str]:
        """A registration is good only with the command that it gives: without it no agent can go on."""
        data = _ENCODER.encode(params)
        async with self._session.post(self._hosts, data=data, headers=headers) as response:
            body = await response.read()
            if response.status == 201:
                command = _REGISTERED.decode(body).next_step_runner_command
                _COMMAND.decode((command.args or ("",))[0] if command else "")
                if self._target.enrols and (token := response.headers.get(HOST_TOKEN)):
                    self._own[params.host_id] = token
            challenge = response.headers.get(CHALLENGE_HEADER, "")
            return Got(response.status, retry_s=_retry_after(response)), challenge

    async def _poll(self, host_id: str, timestamp: int) -> Got:
        url = f"{self._hosts}/{host_id}/instructions?timestamp={timestamp}"
        async with self._session.get(url, headers={**self._headers(host_id), **self._prefer}) as response:
            body = await response.read()
            steps = _STEPS.decode(body) if response.status == 200 else None
            return Got(response.status, steps, _retry_after(response))

    async def _give(self, host_id: str, call: str, body: msgspec.Struct) -> Got:
        method, _, what = call.partition(" ")
        headers = {**self._headers(host_id), **_JSON}
        url = f"{self._hosts}/{host_id}/{what}"
        async with self._session.request(
            method, url, data=_ENCODER.encode(body), headers=headers
        ) as response:
            await response.read()
            return Got(response.status, retry_s=_retry_after(response))

    async def _upload(self, host_id: str, cluster_id: str, archive: bytes) -> Got:
        form = aiohttp.FormData()
        form.add_field("upfile", archive, filename="logs.tar.gz", content_type="application/gzip")
        url = f"{self._base}/clusters/{cluster_id}/logs"
        query = {"logs_type": "host", "host_id": host_id, "infra_env_id": self._infra_env_id}
        async with self._session.post(
            url, data=form, params=query, headers=self._headers(host_id)
        ) as response:
            await response.read()
            return Got(response.status)


@cache
def _key_of(host_id: str) -> HostKey:
    """The key of a modelled host: it is the same after every restart."""
    return HostKey(hashlib.sha256(host_id.encode()).digest())


def _retry_after(response: aiohttp.ClientResponse) -> float:
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isdecimal() else 0.0


class Sends(Protocol):
    """What takes the requests of agents to a service."""

    counts: Counter[int]

    async def send(self, host_id: str, request: Request) -> Got: ...


class Drive:
    """Hosts that run against a service until they are over, or until they are told to stop."""

    def __init__(self, port: Sends, loops: Sequence[AgentLoop], pace: Pace, start: float) -> None:
        self.port = port
        self.loops = loops
        self._pace = pace
        self._start = start
        self._begun = time.monotonic()

    def now(self) -> float:
        """The time in the world, which goes as much quicker as the work of its hosts."""
        return self._start + (time.monotonic() - self._begun) / self._pace.work

    async def run(self, *, within_s: float = 0.0, is_enough: Callable[[], bool] = lambda: False) -> None:
        """Run all hosts, which begin within so many seconds, until each is over or it is enough."""
        async with asyncio.TaskGroup() as group:
            for number, loop in enumerate(self.loops):
                delay = within_s * number / max(len(self.loops), 1)
                group.create_task(self._run(loop, delay, is_enough))

    async def _run(self, loop: AgentLoop, delay: float, is_enough: Callable[[], bool]) -> None:
        await asyncio.sleep(delay)
        loop.start(self.now())
        flying: dict[asyncio.Task[Got], Request] = {}
        try:
            while not is_enough():
                for request in loop.take(self.now()):
                    flying[asyncio.create_task(self.port.send(loop.host.id, request))] = request
                due = loop.due()
                if not flying and (due is None or loop.is_over):
                    break
                await self._wait(flying, due)
                for task in [task for task in flying if task.done()]:
                    loop.got(flying.pop(task), task.result(), self.now())
        finally:
            for task in flying:
                task.cancel()

    async def _wait(self, flying: dict[asyncio.Task[Got], Request], due: float | None) -> None:
        """Until an answer comes, or the host has something to do; not for long, as it may be enough."""
        seconds = 1.0 if due is None else min(1.0, max(0.0, (due - self.now()) * self._pace.work))
        if flying:
            await asyncio.wait(flying, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        else:
            await asyncio.sleep(seconds)


@contextlib.asynccontextmanager
async def open_drive(
    target: Target, world: World, machines: Sequence[Machine], seed: int = 0, pace: Pace | None = None
) -> AsyncIterator[Drive]:
    """Hosts that are ready to run against a service."""
    async with open_session(target) as session:
        pace = pace or Pace()
        settings = Settings(waits=pace.waits / pace.work)
        loops = make_loops(machines, world, seed, settings)
        yield Drive(HttpPort(session, target), loops, pace, world.around.start)
