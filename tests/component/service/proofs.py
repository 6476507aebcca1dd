# SPDX-License-Identifier: Apache-2.0
"""What was answered by a service, and whether its log has all of it."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import aiohttp

from muster.lab.sim.port import Got, Poll, Register, Reply, Report, Request
from muster.service.store.port import Store
from tests.component.service.processes import Witness
from tests.component.service.whole import Person

_KEPT = {
    "inventory": {"inventory"},
    "connectivity-check": {"asked", "reached", "peers"},
    "ntp-synchronizer": {"ntp_sources"},
    "free-network-addresses": {"free_addresses"},
    "verify-vips": {"verified_vips"},
    "domain-resolution": {"resolutions"},
    "installation-disk-speed-check": {"disk_speeds"},
    "container-image-availability": {"images"},
}
"""The fields of a host that an answer to a step is kept in."""


class Onlooker:
    """One who looks at a cluster again and again; what was shown once has to be there ever after."""

    def __init__(self, person: Person, cluster_id: str) -> None:
        self._person, self._id = person, cluster_id
        self.facts: set[tuple[str, ...]] = set()

    async def follow(self) -> None:
        """Look as long as nobody ends it."""
        while True:
            with contextlib.suppress(aiohttp.ClientError, OSError, TimeoutError):
                await self._look()
            await asyncio.sleep(0.1)

    async def _look(self) -> None:
        got = await self._person.ask("GET", f"/events?cluster_id={self._id}&limit=-1")
        if got.status == 200:
            self.facts |= {("told", each["name"], each["message"]) for each in got.json}
        got = await self._person.ask("GET", f"/clusters/{self._id}")
        if got.status == 200:
            shown = (got.json, *got.json["hosts"])
            self.facts |= {("state", each["id"], each["status"]) for each in shown}


class Proofs:
    """What the log says, and what it has to say because of what was answered."""

    def __init__(self) -> None:
        self.logged: set[tuple[str, ...]] = set()
        self._read = 0
        self._checked = 0
        self.acknowledged = 0

    def read(self, store: Store) -> None:
        """Read on in the log."""
        for each in store.log(after=self._read):
            self._read, event = each.sequence, each.event
            if event.name:
                self.logged.add(("told", event.name, event.message))
            for field, value in event.values.items():
                self.logged.add(("field", event.id, field))
                if field == "status":
                    self.logged.add(("state", event.id, value))
                elif field == "progress" and event.kind == "host" and value.current_stage:
                    self.logged.add(("stage", event.id, value.current_stage))

    def check(self, witness: Witness, onlooker: Onlooker) -> None:
        """Whether all that was answered so far is in the log."""
        noted = witness.noted[self._checked :]
        self._checked += len(noted)
        for host_id, request, got in noted:
            if got.is_ok and (wanted := _facts(host_id, request)):
                self.acknowledged += 1
                assert wanted & self.logged, (request, got)
        assert onlooker.facts <= self.logged, onlooker.facts - self.logged


def _facts(host_id: str, request: Request) -> set[tuple[str, ...]]:
    """What a log has that remembers a request: one of these."""
    match request:
        case Register():
            return {("field", host_id, "registered_at")}
        case Report(progress) if progress.current_stage:
            return {("stage", host_id, progress.current_stage)}
        case Reply(reply) if reply.output and not reply.exit_code:
            return {("field", host_id, field) for field in _KEPT.get(reply.step_type or "", ())}
    return set()


def installs_told(noted: list[tuple[str, Request, Got]]) -> dict[str, set[str]]:
    """The steps by which each host was told to install, by host."""
    found: dict[str, set[str]] = {}
    for host_id, request, got in noted:
        if isinstance(request, Poll) and got.steps is not None:
            for step in got.steps.instructions or ():
                if step.step_type == "install":
                    found.setdefault(host_id, set()).add(step.step_id or "")
    return found


def outcome(cluster: dict[str, Any]) -> tuple[Any, ...]:
    """What has become of a cluster."""
    hosts = cluster["hosts"]
    return (
        cluster["status"],
        cluster["progress"]["total_percentage"],
        {host["status"] for host in hosts},
        {host["progress"]["current_stage"] for host in hosts},
        sorted(host["role"] for host in hosts).count("master"),
        len(hosts),
    )
