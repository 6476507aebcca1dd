# SPDX-License-Identifier: Apache-2.0
"""Modelled hosts and a service in one process, on a clock that jumps from one event to the next."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from muster.lab.sim.agent_loop import AgentLoop
from muster.lab.sim.clock import Appointment, Scheduler
from muster.lab.sim.port import Request, ServicePort, send


class Fleet:
    """Many hosts that talk to a service through a port; how long their packets take is drawn by chance."""

    def __init__(self, scheduler: Scheduler, port: ServicePort, random: Random) -> None:
        self.loops: dict[str, AgentLoop] = {}
        """By host id."""
        self._scheduler = scheduler
        self._port = port
        self._random = random
        self._appointments: dict[str, Appointment] = {}

    def start(self, loop: AgentLoop, moment: float) -> None:
        """Let a host begin."""
        self.loops[loop.host.id] = loop
        loop.start(moment)
        self._look(loop)

    def start_all(self, loops: Iterable[AgentLoop], *, within_s: float = 0.0) -> None:
        """Let many hosts begin, all within a while from now."""
        for loop in loops:
            self.start(loop, self._scheduler.now + self._random.random() * within_s)

    def wake(self, host_id: str) -> None:
        """Something is there for a host: it asks at once, as one that holds a long poll would be told."""
        if (loop := self.loops.get(host_id)) is not None:
            loop.wake(self._scheduler.now)
            self._look(loop)

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes from any host."""
        return all(loop.is_over for loop in self.loops.values())

    def _look(self, loop: AgentLoop) -> None:
        """See to it that the host is called when it is due."""
        due = loop.due()
        known = self._appointments.get(loop.host.id)
        if known is not None and known.is_open:
            if due is not None and known.moment <= due:
                return
            known.cancel()
        if due is not None:
            self._appointments[loop.host.id] = self._scheduler.at(due, lambda now: self._act(loop, now))

    def _act(self, loop: AgentLoop, now: float) -> None:
        for request in loop.take(now):
            self._scheduler.after(self._latency(), lambda at, sent=request: self._deliver(loop, sent, at))  # type: ignore[misc]
        self._look(loop)

    def _latency(self) -> float:
        return 0.0005 + 0.002 * self._random.random()

    def _deliver(self, loop: AgentLoop, request: Request, now: float) -> None:
        loop.got(request, send(self._port, loop.host.id, request, now), now)
        self._look(loop)
