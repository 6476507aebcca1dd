# SPDX-License-Identifier: Apache-2.0
"""`muster host join`: tells the service how far a node is, until the cluster is complete."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from typing import TYPE_CHECKING

import click

from muster.cli import log, options
from muster.cli.loop import run_async

if TYPE_CHECKING:
    from muster.cli.host_clock import HostClock
    from muster.client.host import HostCalls
    from muster.node.joining import Sleep


@click.command(epilog=options.examples("muster host join"))
@options.log_level
def join(log_level: str | None) -> None:
    """Tell the service when this host is a node of the cluster, and when the cluster is complete."""
    options.begin_without_site(log_level)
    run_async(_run)


async def _run() -> None:
    from muster.board import FOLDER, Board
    from muster.cli.host_clock import HostClock, clock_board
    from muster.client.calls import open_calls
    from muster.client.host import HostCalls
    from muster.client.kubeconfig import load_access
    from muster.client.kubernetes import open_kubernetes
    from muster.client.persisting import Persistence
    from muster.client.target import Target
    from muster.clock import SystemClock
    from muster.machine import ThisMachine
    from muster.node.ear import GIVE_UP_S, ServiceEar
    from muster.node.failing import Failing
    from muster.node.joining import AUTHORITY, KUBECONFIG, Sight, forget, load_join, name_of
    from muster.node.joining import join as follow

    machine = ThisMachine()
    facts = load_join(machine.root)
    target = Target(facts.url, token=facts.token, authority=machine.root / AUTHORITY)
    clock = SystemClock()
    own = HostClock(machine, clock, facts.url, clock_board(clock))
    persistence = Persistence(random.random, time.monotonic, asyncio.sleep, GIVE_UP_S)
    board = Board(FOLDER / "join.json", clock.now)
    name, access = name_of(machine.root), load_access(machine.root / KUBECONFIG)
    async with (
        open_calls(target, own.timekeeper()) as calls,
        open_kubernetes(access, (), keeps=True) as kubernetes,
    ):
        ear = ServiceEar(facts, calls, persistence, board, name)
        pause = _pausing(own, HostCalls(calls, facts.infra_env_id, facts.host_id))
        sight = Sight(lambda: kubernetes.look(name), Failing(machine).find)
        await follow(facts, machine.root, sight, ear, pause)
    forget(machine.root)
    log.say("this host is a node of its cluster, and the service knows it")


def _pausing(own: HostClock, host: HostCalls) -> Sleep:
    """Sleeps, and before that tells the service if the clock of this host was set."""
    from muster.client.calls import Unreachable

    async def pause(seconds: float) -> None:
        with contextlib.suppress(Unreachable):  # It is told at the next pause.
            await own.report(host)
        await asyncio.sleep(seconds)

    return pause
