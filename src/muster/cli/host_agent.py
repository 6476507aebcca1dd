# SPDX-License-Identifier: Apache-2.0
"""`muster host agent`: the agent of this host."""

from __future__ import annotations

import asyncio
import random
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muster.cli import log, options
from muster.cli.loop import run_async

if TYPE_CHECKING:
    from muster.links import Changes


@click.command(epilog=options.examples("muster host agent"))
@options.log_level
def agent(log_level: str | None) -> None:
    """Register this host with the service of its medium, and do what that asks, until told to end.

    SIGHUP makes it tell anew what the host is made of.
    """
    options.begin_without_site(log_level)
    run_async(_run)


async def _run() -> None:
    from muster.agent.duties import Duties
    from muster.agent.identity import find_identity
    from muster.agent.journal import tell_journal
    from muster.agent.loop import Agent, Means
    from muster.board import FOLDER, Board
    from muster.cli.host_clock import HostClock, clock_board
    from muster.cli.host_place import TokenFile, UnitInstaller, await_papers, load_place
    from muster.client.calls import open_calls
    from muster.client.host import HostCalls, Medium
    from muster.client.host_key import load_host_key
    from muster.client.listening import somebody_listens
    from muster.clock import SystemClock
    from muster.links import find_addresses, open_changes
    from muster.machine import ThisMachine

    await await_papers(Path("/"), asyncio.sleep)
    machine, place, keeper = ThisMachine(), load_place(Path("/")), TokenFile()
    identity = find_identity(machine)
    log.say("this host is %s, by the %s", identity.id, identity.source)
    clock = SystemClock()
    own = HostClock(machine, clock, place.url, clock_board(clock))
    async with open_calls(place.target(keeper.load()), own.timekeeper()) as calls, open_changes() as changes:
        heed_console(changes)
        medium = Medium(place.medium_token, load_host_key(FOLDER / "host-key"))
        log.say("the key of this host is %s", medium.key.fingerprint)
        host = HostCalls(calls, place.infra_env_id, identity.id, medium)
        duties = Duties(machine, host, UnitInstaller(machine, identity.id))
        means = Means(
            board=Board(FOLDER / "agent.json", clock.now),
            keeper=keeper,
            clock=clock.now,
            steady=time.monotonic,
            chance=random.random,
            changes=changes,
            addresses=find_addresses,
            listens=lambda: somebody_listens(place.url),
            report=lambda: own.report(host),
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(Agent(host, duties, means).run())
            group.create_task(
                tell_journal(machine, host, lambda: bool(keeper.load()), asyncio.sleep), name="journal"
            )


def heed_console(changes: Changes) -> None:
    """Somebody before the console wants it looked at again: as if something of the host had changed."""
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, changes.note)
