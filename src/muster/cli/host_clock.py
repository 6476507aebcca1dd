# SPDX-License-Identifier: Apache-2.0
"""The clock of this host, which goes with that of the service unless a time server has the say."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from muster.cli import log

if TYPE_CHECKING:
    from muster.board import Board
    from muster.client.host import HostCalls
    from muster.client.timekeeping import Timekeeper
    from muster.clock import Change, Clock
    from muster.machine import Machine


_LATER: Final = (429, 503)


class HostClock:
    """Tells when the clock was set: whoever stands before the host, the log, and the service."""

    def __init__(self, machine: Machine, clock: Clock, url: str, board: Board) -> None:
        self._machine, self._clock, self._board = machine, clock, board
        self._service = (urlsplit(url).hostname or "").lower()
        self._untold: list[Change] = []
        self._governor = ""

    def timekeeper(self) -> Timekeeper:
        from muster.client.timekeeping import Timekeeper

        return Timekeeper(self._clock, self._is_governed, self._tell)

    async def _is_governed(self) -> bool:
        """Whether the host has the time from a server; that of the service's own host says the same as it."""
        from muster.chrony import find_server

        found = await find_server(self._machine)
        if found in ("", self._service):
            return False
        if found != self._governor:
            log.warn("the clock differs from that of the service; it is left to the time server %s", found)
        self._governor = found
        return True

    def _tell(self, change: Change) -> None:
        self._untold.append(change)
        show_change(self._board, change)

    async def report(self, host: HostCalls) -> None:
        """Tell the service what it was not told yet; `Unreachable` when it is away."""
        from muster.client.calls import Refused

        while self._untold:
            try:
                await host.clock_set(socket.gethostname(), self._untold[0])
            except Refused as error:
                if error.code in _LATER:
                    return
                log.warn("the service does not take note of the clock: %s", error.reason)
            del self._untold[0]


def clock_board(clock: Clock) -> Board:
    """Where it says that the clock was set; nothing else is said there, so it stays."""
    from muster.board import FOLDER, Board

    return Board(FOLDER / "clock.json", clock.now)


def show_change(board: Board, change: Change) -> None:
    """To the log and to the board."""
    log.warn("the clock of this host %s", change.words)
    board.show("the clock of this host was set", details=(f"it {change.words}",))
