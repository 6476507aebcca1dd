# SPDX-License-Identifier: Apache-2.0
"""A host that installed a site does not erase it unasked; a service that does it now may start again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path

from muster.board import Board
from muster.cli.host_rendezvous import _wait_for_consent
from muster.model.meeting import Meeting
from muster.run import Argument, Said
from tests.unit.service.running import finish

MEETING = Meeting(ip_address("192.0.2.10"), "cluster", "infra-env")


class Watched:
    """A machine without disks, which counts how often it is asked for them."""

    def __init__(self, root: Path) -> None:
        self.root, self.asked = root, 0

    async def ask(self, argv: Sequence[Argument], *, deadline_s: float, feed: str = "") -> Said:
        self.asked += 1
        return Said(1, "", "there are none")


def consent(root: Path) -> int:
    machine, board = Watched(root), Board(root / "board.json", lambda: datetime(2026, 3, 1, tzinfo=UTC))
    finish(_wait_for_consent(machine, MEETING, board))
    return machine.asked


def test_disks_are_looked_at_before_the_service_starts_for_the_first_time(tmp_path: Path) -> None:
    assert consent(tmp_path) > 0


def test_a_service_that_starts_again_while_it_leaves_is_not_held_up(tmp_path: Path) -> None:
    (tmp_path / "var/lib/muster/service").mkdir(parents=True)
    (tmp_path / "var/lib/muster/service/site.json").write_text("{}")
    assert consent(tmp_path) == 0
