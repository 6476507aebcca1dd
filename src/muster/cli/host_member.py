# SPDX-License-Identifier: Apache-2.0
"""`muster host member`: this host's place among the members of etcd, when its disk is new."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import click

from muster.cli import log, options
from muster.cli.loop import run_async

if TYPE_CHECKING:
    from muster.node.replacing import Etcd


@click.command(epilog=options.examples("muster host member", "muster host member --promote"))
@click.option("--promote", is_flag=True, help="Give the member that etcd was started as its vote.")
@options.log_level
def member(log_level: str | None, *, promote: bool) -> None:
    """Find out how etcd starts on an empty disk.

    At a first installation there is nothing to do. When the other members know this host from before, its old
    entry is removed, if a majority of them is there, and the host comes in as a new member. No other entry is
    ever touched, nor anything where etcd has data.
    """
    options.begin_without_site(log_level)
    run_async(_promote if promote else _settle)


async def _settle() -> None:
    from muster.node.replacing import settle

    await settle(_etcd())


async def _promote() -> None:
    from muster.node.replacing import promote

    await promote(_etcd())


def _etcd() -> Etcd:
    from muster.machine import ThisMachine
    from muster.node.replacing import Etcd, load_voters

    machine = ThisMachine()
    return Etcd(machine, load_voters(machine.root), lambda text: log.say("%s", text), asyncio.sleep)
