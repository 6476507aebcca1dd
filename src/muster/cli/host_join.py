# SPDX-License-Identifier: Apache-2.0
"""`muster host join`: tells the service how far a node is, until the cluster is complete."""

from __future__ import annotations

import asyncio
import random
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from muster.cli import log, options
from muster.cli.loop import run_async

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from muster.cli.host_clock import HostClock
    from muster.client.calls import Calls
    from muster.model.setting_up import Told
    from muster.model.wire.enums import FinalizingStage, HostStage
    from muster.node.joining import Join

_GIVE_UP_S: Final = 4 * 3600.0
"""A service that was away for so long does not come back; the cluster does not need it."""


@click.command(epilog=options.examples("muster host join"))
@options.log_level
def join(log_level: str | None) -> None:
    """Tell the service when this host is a node of the cluster, and when the cluster is complete."""
    options.begin_without_site(log_level)
    run_async(_run)


async def _run() -> None:
    from muster.cli.host_clock import HostClock, clock_board
    from muster.client.calls import open_calls
    from muster.client.target import Target
    from muster.clock import SystemClock
    from muster.machine import ThisMachine
    from muster.node.joining import AUTHORITY, forget, load_join
    from muster.node.joining import join as follow

    machine = ThisMachine()
    facts = load_join(machine.root)
    target = Target(facts.url, token=facts.token, authority=machine.root / AUTHORITY)
    clock = SystemClock()
    own = HostClock(machine, clock, facts.url, clock_board(clock))
    async with open_calls(target, own.timekeeper()) as calls:
        await follow(facts, machine, _Service(facts, calls, own), asyncio.sleep)
    forget(Path("/"))
    log.say("this host is a node of its cluster, and the service knows it")


class _Service:
    """Tells the service, however often that takes; what it refuses for good is not told again."""

    def __init__(self, facts: Join, calls: Calls, clock: HostClock) -> None:
        from muster.client.host import HostCalls

        self._facts, self._calls, self._clock = facts, calls, clock
        self._host = HostCalls(calls, facts.infra_env_id, facts.host_id)

    async def stage(self, stage: HostStage) -> None:
        log.say("stage: %s", stage)
        await self._tell(lambda: self._host.progress(stage))
        await self._tell(lambda: self._clock.report(self._host))

    async def part(self, id: str, told: Told) -> None:
        log.say("%s: %s: %s", id, told.status, told.info)
        body = {"name": id, "status": told.status, "status_info": told.info}
        path = f"/clusters/{self._facts.cluster_id}/monitored-operators"
        await self._tell(lambda: self._calls.call("PUT", path, body))

    async def finalizing(self, stage: FinalizingStage) -> bool:
        from muster.client.calls import Refused, Unreachable

        path = f"/clusters/{self._facts.cluster_id}/progress"
        try:
            await self._calls.call("PUT", path, {"finalizing_stage": stage})
        except (Refused, Unreachable):
            return False
        return True

    async def _tell(self, call: Callable[[], Awaitable[object]]) -> None:
        from muster.client.calls import Refused, Unreachable
        from muster.client.persisting import Persistence

        try:
            await Persistence(random.random, time.monotonic, asyncio.sleep, _GIVE_UP_S).tell(call)
        except (Refused, Unreachable) as error:
            log.warn("the service is not told: %s", error.message)
