# SPDX-License-Identifier: Apache-2.0
"""Worlds of recorded machines for the tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from muster.lab.sim.clock import Scheduler
from muster.lab.sim.crew import make_loops, make_random
from muster.lab.sim.faults import parse_trouble
from muster.lab.sim.host import SimHost
from muster.lab.sim.machines import Machine, load_machine, number_machine
from muster.lab.sim.on_clock import Fleet
from muster.lab.sim.world import Surroundings, World
from tests.unit.lab.sim.small_service import SmallService

FOLDER = Path(__file__).parents[3] / "machines"
START = Surroundings().start


def machines_of(*kinds: str) -> list[Machine]:
    """Machines of these kinds, numbered from 0."""
    return [number_machine(load_machine(FOLDER / f"{kind}.json"), at) for at, kind in enumerate(kinds)]


def world_of(machines: list[Machine], *faults: str, **around: Any) -> World:
    """A world with these machines, in which some things are broken."""
    return World(Surroundings(troubles=tuple(map(parse_trouble, faults)), **around), machines)


def host_of(kind: str, *faults: str, **around: Any) -> SimHost:
    """A host alone in the world."""
    machines = machines_of(kind)
    return SimHost(machines[0], world_of(machines, *faults, **around), make_random(1))


class Run:
    """A simulation of machines against the small service."""

    def __init__(self, machines: list[Machine], *faults: str, seed: int = 1, **around: Any) -> None:
        self.world = world_of(machines, *faults, **around)
        self.service = SmallService(len(machines))
        self.clock = Scheduler(START)
        self.fleet = Fleet(self.clock, self.service, make_random(seed, "network"))
        self.loops = make_loops(machines, self.world, seed)

    def go(self, until_s: float = 7200.0) -> Run:
        """Let it run."""
        self.fleet.start_all(self.loops, within_s=10.0)
        self.clock.run(START + until_s, is_over=lambda: self.fleet.is_over)
        return self

    @property
    def phases(self) -> dict[str, str]:
        return {loop.host.name: loop.phase for loop in self.loops}
