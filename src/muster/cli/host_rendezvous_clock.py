# SPDX-License-Identifier: Apache-2.0
"""The clock of the rendezvous host: put right before the service starts, and told to the others."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from muster.cli import log

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muster.board import Board
    from muster.clock import Change, Clock
    from muster.machine import Machine
    from muster.service.rendezvous.clock import Judgement, Window

_NTP_S: Final = 15
"""So long chrony gets to reach a time server, before a clock that cannot be right is set without one."""
_AGAIN_S: Final = 10.0


async def put_right(
    machine: Machine, clock: Clock, board: Board, window: Window
) -> tuple[Judgement, Change | None]:
    """Judge the clock by the medium, and set it if it cannot be right."""
    from muster.chrony import find_server
    from muster.cli.host_clock import show_change
    from muster.clock import set_clock
    from muster.errors import MusterError
    from muster.service.rendezvous.clock import Judgement, judge

    found = judge(clock.now(), window)
    if found.set_to is not None:  # A server may know better; it may also have set the clock meanwhile.
        governor = await find_server(machine, _NTP_S)
        found = judge(clock.now(), window, governor)
    if found.trouble:
        log.warn("%s; %s", found.trouble, found.fix)
    if found.set_to is None:
        return found, None
    try:
        change = set_clock(clock, found.set_to, found.why)
    except MusterError as error:
        return Judgement(trouble=error.message, fix=error.hint), None
    show_change(board, change)
    return found, change


async def tell_others(machine: Machine, networks: Sequence[str]) -> None:
    """Have chrony tell this host's time to these networks, as soon as it is up."""
    from muster.chrony import tell_time

    if not networks:
        return
    told = ""
    while trouble := await tell_time(machine, networks):
        if trouble != told:
            log.warn("the time cannot be told to the other hosts: %s", trouble)
        told = trouble
        await asyncio.sleep(_AGAIN_S)
    log.say("this host tells the time to %s", ", ".join(networks))
