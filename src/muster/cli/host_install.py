# SPDX-License-Identifier: Apache-2.0
"""`muster host install`: the installer of this host."""

from __future__ import annotations

import asyncio
import random
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from muster.cli import log, options
from muster.cli.loop import run_async
from muster.errors import ExternalError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from muster.board import Board
    from muster.cli.host_place import Place
    from muster.client.calls import Calls
    from muster.client.host import HostCalls
    from muster.machine import Machine
    from muster.model.wire.enums import HostStage
    from muster.model.wire.host import Host
    from muster.model.wire.steps import InstallCmdRequest
    from muster.node.parts import WrittenDisk

STATE: Final = Path("/var/lib/muster/install")
_TELL_S: Final = 60.0
_FETCH_S: Final = 600.0
_LOOK_S: Final = 3.0
_COPY_AGAIN_S: Final = 30.0
"""A copy of the service's data that failed is tried again after this time."""
_FAREWELL_S: Final = 1.5
"""So long those who follow the installation get to see that the service leaves, and why."""


@click.command(epilog=options.examples("muster host install", "journalctl -u muster-install.service"))
@options.log_level
def install(log_level: str | None) -> None:
    """Write this host's disk as the agent was told to, check it, and boot from it.

    Started again after it was killed, it goes on where it was: a disk that was not written to its end is
    written again, one that was written and checked is not.
    """
    options.begin_without_site(log_level)
    failure = run_async(_run)
    if failure:
        raise ExternalError(f"this host was not installed: {failure}", hint="mend that, and start over")


async def _run() -> str | None:
    from muster.board import FOLDER, Board
    from muster.cli.host_clock import HostClock, clock_board
    from muster.cli.host_place import TokenFile, load_order, load_place
    from muster.client.calls import open_calls
    from muster.client.host import HostCalls
    from muster.clock import SystemClock
    from muster.machine import ThisMachine
    from muster.node.handing_over import UNIT, is_rendezvous
    from muster.node.install import install as install_host
    from muster.node.ports import Ports
    from muster.node.write import Writer

    machine, order, place = ThisMachine(), load_order(), load_place(Path("/"))
    STATE.mkdir(mode=0o700, parents=True, exist_ok=True)
    is_meeting_point = is_rendezvous(machine)
    if is_meeting_point:  # One that was killed while it left may have stopped it.
        await machine.ask(["systemctl", "start", UNIT], deadline_s=60)
    clock = SystemClock()
    timekeeper = HostClock(machine, clock, place.url, clock_board(clock)).timekeeper()
    async with open_calls(place.target(TokenFile().load()), timekeeper) as calls:
        host = HostCalls(calls, place.infra_env_id, order.request.host_id)
        board = Board(FOLDER / "install-notice.json", clock.now)
        reporter = _Reporter(host, board)
        crew = _Crew(calls, host, order.request, place)
        leaving = _Leaving(machine, reporter) if is_meeting_point else None
        others = order.request.control_plane_count != 1
        ports = Ports(
            machine=machine,
            reporter=reporter,
            service=crew,
            writer=Writer(STATE),
            others_ready=_together(crew, leaving) if leaving is not None and others else None,
            hand_over=leaving.hand_over if leaving is not None else None,
        )
        return await install_host(order.request, ports)


class _Reporter:
    """Tells the service and the board. A service that is away is told later, or not at all."""

    def __init__(self, host: HostCalls, board: Board) -> None:
        self._host, self._board = host, board
        self.is_alone = False
        """Whether nobody is there any more to be told."""

    async def stage(self, stage: HostStage, info: str = "", percent: int | None = None) -> None:
        from muster.client.calls import Refused, Unreachable
        from muster.client.persisting import Persistence

        text = info or (f"{percent}%" if percent is not None else "")
        log.say("%s%s", stage, f": {text}" if text else "")
        self._board.show(stage, details=(text,) if text else ())
        if self.is_alone:
            return
        try:
            persistence = Persistence(random.random, time.monotonic, asyncio.sleep, _TELL_S)
            await persistence.tell(lambda: self._host.progress(stage, text))
        except (Refused, Unreachable) as error:
            log.warn("the service was not told: %s", error.message)

    async def warn(self, sentence: str) -> None:
        log.warn("%s", sentence)


class _Crew:
    """What the service says of this host and of the others."""

    def __init__(self, calls: Calls, host: HostCalls, request: InstallCmdRequest, place: Place) -> None:
        self._calls, self._host, self._request, self._place = calls, host, request, place

    async def host_ignition(self) -> bytes:
        from muster.client.persisting import Persistence
        from muster.node.config import add_join
        from muster.node.joining import Join

        found: list[bytes] = []

        async def fetch() -> None:
            found.append(await self._host.ignition())

        await Persistence(random.random, time.monotonic, asyncio.sleep, _FETCH_S).tell(fetch)
        request = self._request
        join = Join(
            url=self._place.url,
            infra_env_id=self._place.infra_env_id,
            host_id=request.host_id,
            cluster_id=request.cluster_id,
            token=self._calls.token,
            role=request.role,
            alone=request.control_plane_count == 1,
            medium_token=self._place.medium_token,
        )
        return add_join(found[-1], join, self._place.authority.read_text("utf-8"))

    async def _hosts(self) -> tuple[Host, ...]:
        from muster.model.wire.host import Host

        return await self._calls.read("GET", f"/clusters/{self._request.cluster_id}/hosts", tuple[Host, ...])

    async def control_plane_ready(self) -> bool:
        from muster.client.calls import Unreachable
        from muster.node.others import is_control_plane_up

        try:
            return is_control_plane_up(await self._hosts())
        except Unreachable:
            return False

    async def wait_for_others(self, keep: Callable[[str], Awaitable[bool]]) -> None:
        """On the rendezvous host, before it leaves; what the others reached is kept on its disk.

        ``keep`` tells whether that succeeded; if not, it is called again later.
        """
        from muster.client.calls import Unreachable
        from muster.node.others import missing_for_leaving, render_reached

        told: tuple[str, ...] = ()
        reached, copy_at = "", 0.0
        while True:
            try:
                hosts = await self._hosts()
                missing = missing_for_leaving(hosts, self._request.host_id)
                if (now := render_reached(hosts)) != reached and time.monotonic() >= copy_at:
                    if await keep(self._request.boot_device):
                        reached = now
                    else:
                        copy_at = time.monotonic() + _COPY_AGAIN_S
            except Unreachable:
                missing = ("the service",)
            if not missing:
                return
            if missing != told:
                log.say("waiting for %s", ", ".join(missing))
                told = missing
            await asyncio.sleep(_LOOK_S)


def _together(crew: _Crew, leaving: _Leaving) -> Callable[[], Awaitable[None]]:
    return lambda: crew.wait_for_others(leaving.keep_copy)


class _Leaving:
    """The rendezvous host restarts: the service is told while it is there, and then comes along."""

    def __init__(self, machine: Machine, reporter: _Reporter) -> None:
        self._machine, self._reporter = machine, reporter
        self._trouble = ""
        """Why the last copy failed."""

    async def keep_copy(self, disk: str) -> bool:
        """Copy what the service knows, in case this host loses power before it leaves. False: it failed."""
        from muster.errors import MusterError
        from muster.node.handing_over import leave_copy
        from muster.node.parts import find_parts

        try:
            await leave_copy(self._machine, await find_parts(self._machine, disk))
        except MusterError as error:
            if error.message != self._trouble:
                log.warn("no new copy of the service's data is on the disk: %s", error.message)
            self._trouble = error.message
            return False
        self._trouble = ""
        return True

    async def hand_over(self, disk: WrittenDisk) -> None:
        from muster.node.handing_over import take_along

        await self._reporter.stage("Rebooting", "the service goes along, and answers again from the disk")
        self._reporter.is_alone = True
        await asyncio.sleep(_FAREWELL_S)
        await take_along(self._machine, disk)
