# SPDX-License-Identifier: Apache-2.0
"""`muster host replace`: this machine takes the place of a host that was lost."""

from __future__ import annotations

import asyncio
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from muster.cli import log, options
from muster.cli.loop import run_async
from muster.errors import ExternalError

if TYPE_CHECKING:
    from muster.board import Board
    from muster.machine import Machine
    from muster.model.replacement import Replacement
    from muster.model.wire.enums import HostStage
    from muster.model.wire.inventory import Inventory
    from muster.node.standing_in import Look, Obstacle

STATE: Final = Path("/var/lib/muster/install")


@click.command(epilog=options.examples("muster host replace", "journalctl -u muster-replace.service"))
@options.log_level
def replace(log_level: str | None) -> None:
    """Install this machine as the lost host that its medium is for, and boot from the disk.

    It begins when this is the machine that is meant, nobody else has the host's addresses, and the disk is
    there; what is in the way is on the console. A disk that was written from the same medium is not written
    again: such a machine has to boot from its disk.
    """
    options.begin_without_site(log_level)
    failure = run_async(_run)
    if failure:
        raise ExternalError(f"this host was not installed: {failure}", hint="mend that; it is tried again")


async def _run() -> str | None:
    from muster.board import FOLDER, Board
    from muster.clock import SystemClock
    from muster.machine import ThisMachine
    from muster.node.install import install
    from muster.node.ports import Ports
    from muster.node.standing_in import (
        KeptConfig,
        load_replacement,
        make_request,
        marking,
        wait_until_clear,
    )
    from muster.node.write import Writer

    machine = ThisMachine()
    wanted = load_replacement(machine.root)
    STATE.mkdir(mode=0o700, parents=True, exist_ok=True)
    board = Board(FOLDER / "install-notice.json", SystemClock().now)
    looking = Looking(machine, wanted)
    await wait_until_clear(looking.all(), lambda found: _show(board, wanted, found), asyncio.sleep)
    ports = Ports(
        machine=machine,
        reporter=_Reporter(board),
        service=KeptConfig(machine.root),
        writer=Writer(STATE),
        hand_over=marking(machine, wanted),
    )
    return await install(make_request(wanted, looking.disk), ports)


def _show(board: Board, wanted: Replacement, found: Obstacle | None) -> None:
    doing = f"this machine is to become {wanted.hostname}"
    if found is None:
        board.show(doing)
    else:
        log.warn("%s; %s", found.trouble, found.fix)
        board.show(doing, trouble=found.trouble, fix=found.fix)


class Looking:
    """Looks at this machine, and remembers the disk that it found."""

    def __init__(self, machine: Machine, wanted: Replacement) -> None:
        self._machine, self._wanted = machine, wanted
        self._marked: str | None = None
        self.disk = ""

    def all(self) -> tuple[Look, ...]:
        """In this order: the right machine, not installed yet, the only one, with a disk."""
        return (self._look_at_cards, self._look_for_mark, self._look_for_rivals, self._look_for_disk)

    async def _look_at_cards(self) -> Obstacle | None:
        from muster.agent.inventory.interfaces import collect_interfaces
        from muster.node.standing_in import check_cards

        found = (await collect_interfaces(self._machine)).inventory.interfaces or ()
        return check_cards(self._wanted, (each.mac_address or "" for each in found))

    async def _look_for_mark(self) -> Obstacle | None:
        from muster.board import FOLDER
        from muster.node.marks import START_OVER, find_marked
        from muster.node.standing_in import Obstacle
        from muster.node.state import has_begun

        if has_begun(STATE):
            return None  # It was written in this life of the live system, and is not finished yet.
        if self._marked is None:
            self._marked = await find_marked(self._machine, self._wanted.id)
        if not self._marked or (FOLDER / START_OVER).exists():
            return None
        return Obstacle(
            f"{self._wanted.hostname} was installed on the disk {self._marked} from this medium already",
            "remove the medium, or set the boot order in the setup of the firmware, and restart this host; "
            f"to write that disk again: touch {FOLDER / START_OVER}",
        )

    async def _look_for_rivals(self) -> Obstacle | None:
        from muster.agent.claims import find_rivals
        from muster.node.standing_in import check_rivals

        for address in self._wanted.addresses:
            rivals = await find_rivals(self._machine, ip_address(address))
            if (obstacle := check_rivals(self._wanted, address, rivals)) is not None:
                return obstacle
        return None

    async def _look_for_disk(self) -> Obstacle | None:
        from muster.agent.inventory.collect import COLLECTORS, collect

        parts = [each for each in COLLECTORS if each.name in ("cpu", "disks", "interfaces", "routes")]
        self.disk, obstacle = choose_disk(self._wanted, (await collect(self._machine, parts)).inventory)
        return obstacle


def choose_disk(wanted: Replacement, inventory: Inventory) -> tuple[str, Obstacle | None]:
    """The disk that is written, as in any installation; or why there is none."""
    from muster.model.host import RootDeviceHints
    from muster.node.standing_in import Obstacle
    from muster.service.derive.disks import Needs, device_path, eligible_disks, judge_disks
    from muster.service.derive.hints import matching_disks

    architecture = inventory.cpu.architecture if inventory.cpu is not None else None
    judged = judge_disks(inventory, Needs(0, "", architecture or ""))
    usable = eligible_disks(judged)
    hints = RootDeviceHints(**wanted.hints)  # type: ignore[arg-type]  # their names are those of its fields
    found = matching_disks(hints, usable)
    if found:
        return found[0].id or device_path(found[0]), None
    asked = ", ".join(f"{name} {value}" for name, value in wanted.hints.items())
    there = ", ".join(device_path(each) for each in judged.disks or ()) or "none"
    trouble = (
        f"no disk that can be installed on is as the medium says ({asked})" if asked else "no disk is usable"
    )
    return "", Obstacle(
        f"{trouble}; the disks here: {there}",
        "plug in the disk that is meant; or change rootDeviceHints, or name it with --disk, and make the "
        "medium again",
    )


class _Reporter:
    """Tells the board and the journal: there is no service any more."""

    def __init__(self, board: Board) -> None:
        self._board = board

    async def stage(self, stage: HostStage, info: str = "", percent: int | None = None) -> None:
        text = info or (f"{percent}%" if percent is not None else "")
        log.say("%s%s", stage, f": {text}" if text else "")
        self._board.show(stage, details=(text,) if text else ())

    async def warn(self, sentence: str) -> None:
        log.warn("%s", sentence)
