# SPDX-License-Identifier: Apache-2.0
"""`muster host meet`: what a person chooses before the consoles of this host, seen to."""

from __future__ import annotations

import logging
import os
import socket
import time
from pathlib import Path

import click

from muster.cli import options
from muster.cli.loop import run_async


@click.command(epilog=options.examples("muster host meet", "journalctl -u muster-meet.service"))
@options.log_level
def meet(log_level: str | None) -> None:
    """On a host of a generic medium: find rendezvous hosts that are announced, be one, or join one.

    What to do is chosen on the consoles of this host (`muster host console`). Hosts of a site need no choice:
    there this ends at once.
    """
    options.begin_without_site(log_level)
    run_async(_run)


async def _run() -> None:
    from muster.agent.meeting.acting import Hand
    from muster.agent.meeting.multicast import open_wire
    from muster.agent.meeting.place import MeetingPlace
    from muster.agent.meeting.running import Host, Means
    from muster.board import FOLDER, Board
    from muster.clock import SystemClock
    from muster.links import find_addresses
    from muster.machine import ThisMachine

    logging.getLogger("muster.agent.meeting").setLevel(logging.INFO)
    place, machine = MeetingPlace(Path("/")), ThisMachine()
    if not place.is_generic:
        return
    means = Means(
        place=place,
        hand=Hand(machine, place),
        board=Board(FOLDER / "meet.json", SystemClock().now),
        wire=open_wire(),
        addresses=find_addresses,
        name=_name,
        random=os.urandom,
        steady=time.monotonic,
    )
    await Host(means).run()


def _name() -> str:
    """What people may know this host by; nobody knows one that was not given a name."""
    name = socket.gethostname()
    return "" if name.startswith("localhost") or name == "(none)" else name
