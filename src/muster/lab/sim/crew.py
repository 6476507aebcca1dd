# SPDX-License-Identifier: Apache-2.0
"""Hosts for machines, each with chances of its own, which a seed decides for all time."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from muster.lab.sim.agent_loop import AgentLoop, Settings
from muster.lab.sim.host import SimHost
from muster.lab.sim.machines import Machine
from muster.lab.sim.world import World


def make_random(seed: int, *words: object) -> Random:
    """Chances that depend on the seed and on what they are for, and on nothing else."""
    return Random("/".join(map(str, (seed, *words))))  # noqa: S311 (nothing secret is made with it)


def make_loops(
    machines: Iterable[Machine], world: World, seed: int, settings: Settings | None = None
) -> list[AgentLoop]:
    """A host for each machine, with its agent."""
    return [
        AgentLoop(
            SimHost(machine, world, make_random(seed, "host", machine.name)),
            make_random(seed, "agent", machine.name),
            settings,
        )
        for machine in machines
    ]
