# SPDX-License-Identifier: Apache-2.0
"""Modelled hosts in threads of their own, in a world that can be changed while they run."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec

from muster.lab.sim.agent_loop import AgentLoop, Settings
from muster.lab.sim.body import Body
from muster.lab.sim.crew import make_loops
from muster.lab.sim.faults import parse_trouble
from muster.lab.sim.machines import Machine
from muster.lab.sim.over_http import Drive, HttpPort, Pace, Target, open_session
from muster.lab.sim.world import Surroundings, World

_FOR_EVER = 10**6


class Crew:
    """All hosts that were switched on."""

    def __init__(self, target: Callable[[], Target], pace: Pace, **around: Any) -> None:
        self._target, self._pace = target, pace
        self._plain = self._around = Surroundings(start=time.time(), **around)
        self._machines: list[Machine] = []
        """As they were built."""
        self._present: list[Machine] = []
        """As they are now."""
        self._loops: list[AgentLoop] = []
        self._threads: list[threading.Thread] = []
        self._enough = threading.Event()

    def switch_on(self, *machines: Machine) -> None:
        """These boot their medium."""
        self._machines += machines
        self._present += machines
        # A service may be away for as long as people look at it.
        habits = Settings(
            waits=self._pace.waits / self._pace.work,
            returns=True,
            reply_tries=_FOR_EVER,
            report_tries=_FOR_EVER,
            give_up_s=1e9,
        )
        loops = make_loops(machines, self._world(), 1, habits)
        self._loops += loops
        self._settle()
        self._threads.append(threading.Thread(target=lambda: asyncio.run(self._drive(loops)), daemon=True))
        self._threads[-1].start()

    async def _drive(self, loops: list[AgentLoop]) -> None:
        target = self._target()
        async with open_session(target) as session:
            drive = Drive(HttpPort(session, target), loops, self._pace, self._plain.start)
            await drive.run(is_enough=self._enough.is_set)
            # Requests that were under way are given up; their sockets are closed before the loop is.
            others = asyncio.all_tasks() - {asyncio.current_task()}
            await asyncio.gather(*others, return_exceptions=True)

    def rebuild(self, number: int, **parts: Any) -> None:
        """One host is made of something else from now on."""
        built = self._machines[number]
        self._present[number] = Machine(built.kind, msgspec.structs.replace(built.inventory, **parts))
        self._settle()

    def disturb(self, *faults: str, **around: Any) -> None:
        """The world around all hosts is another one from now on."""
        troubles = tuple(map(parse_trouble, faults))
        self._around = msgspec.structs.replace(self._plain, troubles=troubles, **around)
        self._settle()

    def mend(self) -> None:
        """All is as it was in the beginning."""
        self._present = list(self._machines)
        self._around = self._plain
        self._settle()

    def _world(self) -> World:
        return World(self._around, self._present)

    def _settle(self) -> None:
        world = self._world()
        for loop, machine in zip(self._loops, self._present, strict=True):
            loop.host.body = Body(machine, world, loop.host.body.random)

    def switch_off(self) -> None:
        """All of them; they end in a moment."""
        self._enough.set()

    def close(self) -> None:
        """All are switched off, and have ended."""
        self.switch_off()
        for thread in self._threads:
            thread.join(30)
