# SPDX-License-Identifier: Apache-2.0
"""The whole service over TLS in this process, with a release that can be installed, for tests to talk to."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

import aiohttp

from muster.lab.sim.machines import Machine, load_machine, number_machine
from muster.lab.sim.over_http import Drive, Pace, Target, make_context, open_drive
from muster.lab.sim.world import Surroundings, World
from muster.release.build.recipe import find_home
from muster.release.look import choose_release, load_release
from muster.release.model import Release
from muster.release.store.store import create_store
from muster.service.adapters import AGENT_TOKEN_LASTS
from muster.service.auth.personas import Grant, Persona, Scope
from muster.service.auth.tokens import Tokens
from muster.service.decisions.enrolment import enrolment_epoch
from muster.service.hosting import Running, Settings, Sockets, now
from muster.serving.listen import open_socket, parse_endpoint
from tests.releases import make_whole, put_whole

MACHINES = Path(__file__).parents[2] / "machines"
API = "/api/assisted-install/v2"
PULL_SECRET = json.dumps({"auths": {"registry.example.com": {"auth": "dXNlcjpzZWNyZXQ="}}})
SSH_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA me@example.com"
_WHOLE = ("/api", "/byapikey", "/health", "/ready")
"""Paths that are not below that of the interface."""
QUICK = Pace(work=0.001, waits=0.02)


@dataclass
class Answer:
    """What the service said."""

    status: int
    headers: Mapping[str, str]
    """By names in any case."""
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def host_epoch(host: Mapping[str, Any], count: int) -> int:
    """The epoch of the tokens of a host, as it is shown, that was bound to a key so often."""
    return enrolment_epoch(host.get("key_fingerprint") or "", count)


@dataclass
class Person:
    """One who is logged in at a service, wherever that runs."""

    url: str
    tokens: Tokens
    session: aiohttp.ClientSession
    token: str
    version: str

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """One request, by the person who is logged in unless other headers say who it is."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        data = None if body is None else json.dumps(body)
        url = self.url + (path if path.startswith(_WHOLE) else API + path)
        if {"Authorization", "X-Secret-Key", "Watcher-Authorization"} & named.keys():
            return await self._send(method, url, data, named)
        token = self.token
        got = await self._send(method, url, data, named | {"Authorization": f"Bearer {token}"})
        if got.status == HTTPStatus.UNAUTHORIZED and token != self.token:
            # They have logged in anew while the old session was under way.
            return await self.ask(method, path, body, **headers)
        return got

    async def _send(self, method: str, url: str, data: str | None, headers: dict[str, str]) -> Answer:
        async with self.session.request(method, url, data=data, headers=headers) as got:
            return Answer(got.status, got.headers.copy(), await got.read())

    async def make_cluster(self, **values: Any) -> dict[str, Any]:
        """A cluster, and an infra-env of it."""
        params = {
            "name": "alpha",
            "openshift_version": self.version,
            "pull_secret": PULL_SECRET,
            "base_dns_domain": "example.com",
            "ssh_public_key": SSH_KEY,
            "api_vips": [{"ip": "192.0.2.200"}],
            "ingress_vips": [{"ip": "192.0.2.201"}],
            **values,
        }
        got = await self.ask("POST", "/clusters", params)
        assert got.status == 201, got.body
        cluster: dict[str, Any] = got.json
        given = {"name": f"{cluster['name']}-env", "pull_secret": PULL_SECRET, "cluster_id": cluster["id"]}
        made = await self.ask("POST", "/infra-envs", given)
        assert made.status == 201, made.body
        return {**cluster, "infra_env_id": made.json["id"]}

    def agent_token(self, infra_env_id: str) -> str:
        expires = time.time() + AGENT_TOKEN_LASTS.total_seconds()
        return self.tokens.issue(Grant(Persona.MEDIUM, Scope(infra_env_id), expires))

    async def controller(self, cluster_id: str) -> dict[str, Any]:
        """A host of the control plane."""
        hosts = (await self.cluster(cluster_id))["hosts"]
        return next(each for each in hosts if "master" in (each["role"], each["suggested_role"]))

    async def controller_token(self, cluster_id: str) -> str:
        """The own token of a host of the control plane, which tells how far its cluster is."""
        host = await self.controller(cluster_id)
        for count in range(50):
            scope, epoch = Scope(host["infra_env_id"], None, host["id"]), host_epoch(host, count)
            token = self.tokens.issue(Grant(Persona.HOST, scope, time.time() + 3600, epoch=epoch))
            got = await self.ask("GET", f"/clusters/{cluster_id}/why", X_Secret_Key=token)
            if got.status != HTTPStatus.FORBIDDEN:
                return token
        raise AssertionError(f"no token of host {host['id']} is accepted")

    @asynccontextmanager
    async def hosts(
        self, infra_env_id: str, machines: list[Machine], *, pace: Pace = QUICK, **around: Any
    ) -> AsyncIterator[Drive]:
        """Modelled hosts that run against the service until the body ends."""
        target = Target(
            url=self.url,
            infra_env_id=infra_env_id,
            token=self.agent_token(infra_env_id),
            insecure=True,
            wait_s=around.pop("wait_s", 20),
        )
        world = World(Surroundings(start=time.time(), **around), machines)
        async with open_drive(target, world, machines, 1, pace) as drive:
            task = asyncio.ensure_future(drive.run())
            try:
                yield drive
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    async def cluster(self, id: str) -> dict[str, Any]:
        got = await self.ask("GET", f"/clusters/{id}")
        assert got.status == 200, got.body
        found: dict[str, Any] = got.json
        return found

    async def until(self, id: str, is_so: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The cluster as soon as something is so; what never comes ends by the patience of the test."""
        while True:
            cluster = await self.cluster(id)
            if is_so(cluster):
                return cluster
            await asyncio.sleep(0.05)


@dataclass
class Whole(Person):
    """A service that runs in this process, and one who is logged in."""

    running: Running


def machines(count: int, kind: str = "kvm-libvirt") -> list[Machine]:
    """Hosts of one kind, all in the same network."""
    return [number_machine(load_machine(MACHINES / f"{kind}.json"), number) for number in range(count)]


def small_release(folder: Path, *add_ons: str) -> Release:
    """A release of the real recipe, whose programs are a few bytes."""
    store = create_store(folder / "store")
    put_whole(store, *make_whole(folder, *add_ons, home=find_home()))
    return load_release(store, choose_release(store, "", "amd64"))


@asynccontextmanager
async def open_service(
    folder: Path, clock: Callable[[], datetime] = now, **settings: Any
) -> AsyncIterator[Whole]:
    """A service in a folder of its own, or the one that was there before."""
    parts = folder / "parts"
    parts.mkdir(exist_ok=True)
    release = small_release(parts) if not (parts / "store").exists() else _load(parts)
    with open_socket(parse_endpoint("127.0.0.1:0")) as listening:
        given = Settings(data=folder / "data", **settings)
        running = Running(given, Sockets(listening), lambda version, architecture: release, clock)
        async with running.serve():
            target = Target(url=running.url, infra_env_id="", insecure=True)
            connector = aiohttp.TCPConnector(ssl=make_context(target), limit=0)
            async with aiohttp.ClientSession(connector=connector) as session:
                token = running.login.make_session(clock().timestamp()).token
                yield Whole(running.url, running.tokens, session, token, release.version, running)


def _load(parts: Path) -> Release:
    from muster.release.store.store import open_store

    store = open_store(parts / "store")
    return load_release(store, choose_release(store, "", "amd64"))


async def come(is_so: Callable[[], bool | Awaitable[bool]]) -> None:
    """Wait until something is so; what never comes ends by the patience of the test."""
    while True:
        found = is_so()
        if found if isinstance(found, bool) else await found:
            return
        await asyncio.sleep(0.01)


def play(scene: Callable[[], Coroutine[Any, Any, None]], patience_s: float = 900.0) -> None:
    """Run a test's scene, which has to end."""

    async def within() -> None:
        async with asyncio.timeout(patience_s):
            await scene()

    asyncio.run(within())


Scene = Callable[[Whole], Awaitable[None]]
