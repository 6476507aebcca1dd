# SPDX-License-Identifier: Apache-2.0
"""Modelled hosts for the benchmarks of the service: each with a connection of its own, which answer at once.

They take no time for what they are told to do, so that all the time that passes is that of the service.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from typing import Any

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.component.service.whole import MACHINES, PULL_SECRET, SSH_KEY

from muster.lab.sim.host import SimHost
from muster.lab.sim.links import Asking
from muster.lab.sim.machines import Machine, load_machine, make_many
from muster.lab.sim.world import Surroundings, World
from muster.model.wire.reports import StepReply
from muster.model.wire.steps import ConnectivityCheckHost, ConnectivityCheckNic, Steps
from muster.service.api.agents import TOKEN_HEADER
from serving import API, Line, Request, Server, client_context, open_line

KIND = "fc-multipath"
PATIENCE_S = 900
WAIT_S = 3
_steps = msgspec.json.Decoder(Steps)
_encode = msgspec.json.Encoder().encode


class Agent:
    """A host and its connection."""

    def __init__(self, fleet: Fleet, machine: Machine) -> None:
        self.host = SimHost(machine, fleet.world, Random(machine.name))
        self.token = ""
        self.path = f"{fleet.path}/{self.host.id}"
        self._fleet = fleet
        self._line: Line | None = None

    async def send(self, request: Request) -> bytes:
        """Send a request; whatever is not taken ends the benchmark."""
        if self._line is None:
            self._line = await open_line(self._fleet.server.port, self._fleet.context)
        status, body = await self._line.send(request.render())
        if not 200 <= status < 300:
            raise SystemExit(f"{request.method} {request.path} was answered with {status}: {body[:300]!r}")
        return body

    def close(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None

    async def register(self) -> None:
        await self.send(
            Request("POST", self._fleet.path, self._fleet.token, _encode(self.host.register_params()))
        )
        assert self._line is not None
        _, _, rest = self._line.head.partition(TOKEN_HEADER.encode() + b": ")
        self.token = rest.partition(b"\r\n")[0].decode()

    def poll(self, wait_s: int = 0) -> Request:
        headers = f"Prefer: wait={wait_s}\r\n" if wait_s else ""
        return Request(
            "GET", f"{self.path}/instructions?timestamp={int(time.time())}", self.token, b"", headers
        )

    def reply(self, reply: StepReply) -> Request:
        return Request("POST", f"{self.path}/instructions", self.token, _encode(reply))

    def reply_connectivity(self, fleet: Fleet) -> Request:
        return self.reply(StepReply(step_type="connectivity-check", output=fleet.connectivity(self)))

    def progress(self, stage: str, info: str = "") -> Request:
        body = json.dumps({"current_stage": stage, "progress_info": info}).encode()
        return Request("PUT", f"{self.path}/progress", self.token, body)

    async def turn(self, wait_s: int = 0) -> int:
        """Ask once, and do what is told; how much that was."""
        told = _steps.decode(await self.send(self.poll(wait_s))).instructions or ()
        for step in told:
            if step.step_type == "install":
                self._fleet.installing.setdefault(self.host.id, time.monotonic())
            reply = self.host.answer(step, time.time()).reply
            if reply is not None:
                await self.send(self.reply(reply))
                self._fleet.note_answered(reply)
        return len(told)


class Fleet:
    """All hosts of a cluster."""

    def __init__(self, server: Server, cluster: dict[str, Any], count: int) -> None:
        self.server, self.context = server, client_context()
        self.cluster_id, self.infra_env_id = cluster["id"], cluster["infra_env_id"]
        self.path = f"{API}/infra-envs/{self.infra_env_id}/hosts"
        self.token = server.agent_token(self.infra_env_id)
        machines = list(make_many([load_machine(MACHINES / f"{KIND}.json")], count))
        self.world = World(Surroundings(start=time.time()), machines)
        self.agents = [Agent(self, machine) for machine in machines]
        self.answered_at: dict[str, float] = {}
        """When the last answer to each type of step was taken."""
        self.answers: Counter[str] = Counter()
        self.installing: dict[str, float] = {}
        """When each host was told to install."""

    def note_answered(self, reply: StepReply) -> None:
        self.answers[reply.step_type or ""] += 1
        self.answered_at[reply.step_type or ""] = time.monotonic()

    def close(self) -> None:
        for agent in self.agents:
            agent.close()

    async def all(self, work: Callable[[Agent], Awaitable[object]]) -> None:
        """The same for all hosts, at once."""
        await asyncio.gather(*(work(agent) for agent in self.agents))

    async def live(self, until: Callable[[], Awaitable[bool]]) -> None:
        """Hosts that wait for instructions and follow them, until something is so."""

        is_over = False

        async def follow(agent: Agent) -> None:
            while not is_over:  # Nobody leaves in the middle of a step.
                await agent.turn(WAIT_S)

        tasks = [asyncio.ensure_future(follow(agent)) for agent in self.agents]
        deadline = time.monotonic() + PATIENCE_S
        while not await until():
            if ended := [task for task in tasks if task.done()]:
                ended[0].result()
            if time.monotonic() > deadline:
                raise SystemExit(f"the hosts did not come to an end within {PATIENCE_S} s")
            await asyncio.sleep(0.01)
        is_over = True
        await asyncio.gather(*tasks)
        self.close()

    def connectivity(self, agent: Agent, most: int | None = None) -> str:
        """What a host says of all its peers, or of the next few, in one report; times differ each time."""
        own = self.agents.index(agent)
        others = [*self.agents[own + 1 :], *self.agents[:own]][:most]
        peers = [msgspec.Raw(_encode(_peer(each.host))) for each in others]
        body = agent.host.body
        return Asking(body.cards, self.world, time.time(), Random()).ask(peers)


def _peer(host: SimHost) -> ConnectivityCheckHost:
    nics = tuple(
        ConnectivityCheckNic(
            name=each.name,
            mac=each.mac_address,
            ip_addresses=(*(each.ipv4_addresses or ()), *(each.ipv6_addresses or ())),
        )
        for each in host.body.machine.inventory.interfaces or ()
    )
    return ConnectivityCheckHost(host_id=host.id, nics=nics)


class Person:
    """One who is logged in."""

    def __init__(self, server: Server, line: Line) -> None:
        self._server, self._line, self._token = server, line, server.user_token()

    async def ask(self, method: str, path: str, body: Any = None) -> Any:
        data = b"" if body is None else json.dumps(body).encode()
        headers = f"Authorization: Bearer {self._token}\r\n"
        request = Request(method, API + path, "", data, headers).render()
        try:
            status, answer = await self._line.send(request)
        except asyncio.IncompleteReadError:  # Nothing was asked for so long that the connection was closed.
            self._line = await open_line(self._server.port, client_context())
            status, answer = await self._line.send(request)
        if not 200 <= status < 300:
            raise SystemExit(f"{method} {path} was answered with {status}: {answer[:300]!r}")
        return json.loads(answer) if answer else None

    async def make_cluster(self, name: str, count: int) -> dict[str, Any]:
        """A cluster for so many hosts, and its infra-env."""
        versions = await self.ask("GET", "/openshift-versions")
        net = "192.0.2" if count + 10 < 0xFF else "198.18.250"
        params = {
            "name": name,
            "openshift_version": next(iter(versions)),
            "pull_secret": PULL_SECRET,
            "base_dns_domain": "example.com",
            "ssh_public_key": SSH_KEY,
            "api_vips": [{"ip": f"{net}.251"}],
            "ingress_vips": [{"ip": f"{net}.252"}],
            "cluster_networks": [{"cidr": "10.128.0.0/14", "host_prefix": 25}],
        }
        cluster = await self.ask("POST", "/clusters", params)
        given = {"name": f"{name}-env", "pull_secret": PULL_SECRET, "cluster_id": cluster["id"]}
        made = await self.ask("POST", "/infra-envs", given)
        return {**cluster, "infra_env_id": made["id"]}

    async def status(self, cluster_id: str) -> str:
        found: str = (await self.ask("GET", f"/clusters/{cluster_id}?exclude-hosts=true"))["status"]
        return found

    async def statuses(self, infra_env_id: str) -> set[str]:
        return {host["status"] for host in await self.ask("GET", f"/infra-envs/{infra_env_id}/hosts")}


async def open_person(server: Server) -> Person:
    return Person(server, await open_line(server.port, client_context()))
