# SPDX-License-Identifier: Apache-2.0
"""The clocks of hosts are put right, and it is told on the board and to the service."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from muster.board import Board, Notice, read_notice
from muster.cli.host_clock import HostClock
from muster.cli.host_rendezvous_clock import put_right, tell_others
from muster.client.calls import Refused, Unreachable
from muster.clock import Change
from muster.service.rendezvous.medium import load_window
from tests.clocks import EPOCH, HandClock
from tests.seeds import fixed_secrets
from tests.unit.agent.steps.recorded import Recorded, finish, good
from tests.unit.service.rendezvous.test_medium import boot

MADE = fixed_secrets().tokens_issued
SYNCED = "C0000201,192.0.2.1,3,1.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,2.0,Normal\n"
UNSYNCED = "00000000,,0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,1.0,1.0,0.0,Not synchronised\n"
CHANGE = Change(EPOCH, MADE, "because")


def rendezvous(folder: Path, clock: HandClock, tracking: str = UNSYNCED) -> tuple[str, Change | None]:
    """What is wrong in the end, and how the clock was set."""
    boot("single-node-none", folder / "root", fixed_secrets())
    machine = Recorded({"chronyc -n -c tracking": good(tracking)}, folder / "root")
    judgement, change = finish(
        put_right(machine, clock, Board(folder / "clock.json", clock.now), load_window(machine.root))
    )
    return judgement.trouble, change


def notice(folder: Path) -> Notice | None:
    return read_notice(folder / "clock.json")


@pytest.mark.parametrize("year", [1970, 2131])
def test_a_rendezvous_host_begins_at_the_making_of_its_medium(tmp_path: Path, year: int) -> None:
    clock = HandClock(datetime(year, 1, 1, tzinfo=UTC))
    trouble, change = rendezvous(tmp_path, clock)
    assert clock.sets == [MADE]
    assert change is not None
    assert trouble == ""
    shown = notice(tmp_path)
    assert shown is not None
    assert f"{year}-01-01 00:00:00 UTC" in shown.details[0]
    assert shown.since == MADE
    assert rendezvous(tmp_path, clock) == ("", None)  # One that starts again finds nothing to do.


def test_a_clock_that_may_be_right_is_left_alone(tmp_path: Path) -> None:
    clock = HandClock(MADE + timedelta(days=2))
    assert rendezvous(tmp_path, clock) == ("", None)
    assert clock.sets == []
    assert notice(tmp_path) is None


def test_so_is_one_that_a_time_server_sets(tmp_path: Path) -> None:
    clock = HandClock(MADE - timedelta(days=2))
    trouble, change = rendezvous(tmp_path, clock, SYNCED)
    assert (clock.sets, change) == ([], None)
    assert "192.0.2.1" in trouble


def test_one_that_cannot_be_set_is_told(tmp_path: Path) -> None:
    trouble, change = rendezvous(tmp_path, HandClock(EPOCH, stuck=True))
    assert change is None
    assert "cannot be set" in trouble


def test_the_time_is_told_to_others_only_if_there_are_any() -> None:
    machine = Recorded({"chronyc": good()})
    finish(tell_others(machine, ()))
    assert machine.asked == []
    finish(tell_others(machine, ("192.0.2.0/24",)))
    assert "chronyc allow 192.0.2.0/24" in machine.asked


class Ear:
    """A service that listens, or not."""

    def __init__(self, *answers: Exception | None) -> None:
        self._answers = list(answers)
        self.heard: list[Change] = []

    async def clock_set(self, name: str, change: Change) -> None:
        assert name
        if self._answers and (answer := self._answers.pop(0)) is not None:
            raise answer
        self.heard.append(change)


def test_the_service_is_told_once_as_soon_as_it_listens(tmp_path: Path) -> None:
    clock = HandClock(MADE)
    own = HostClock(Recorded({}), clock, "https://192.0.2.10:8090", Board(tmp_path / "clock.json", clock.now))
    ear = Ear(Refused(503, "full"), Unreachable("https://x", "gone"))
    own._tell(CHANGE)
    finish(own.report(ear))  # type: ignore[arg-type]
    with pytest.raises(Unreachable):
        finish(own.report(ear))  # type: ignore[arg-type]
    for _ in range(2):
        finish(own.report(ear))  # type: ignore[arg-type]
    assert ear.heard == [CHANGE]
    shown = notice(tmp_path)
    assert shown is not None
    assert "1970-01-01" in shown.details[0]


def test_a_service_that_does_not_want_to_know_is_not_asked_again(tmp_path: Path) -> None:
    clock = HandClock(MADE)
    own = HostClock(Recorded({}), clock, "https://192.0.2.10:8090", Board(tmp_path / "clock.json", clock.now))
    ear = Ear(Refused(403, "not yours"))
    own._tell(CHANGE)
    for _ in range(2):
        finish(own.report(ear))  # type: ignore[arg-type]
    assert ear.heard == []


@pytest.mark.parametrize(("server", "governed"), [("192.0.2.1", True), ("192.0.2.10", False), ("", False)])
def test_a_time_server_has_the_say_unless_it_is_the_host_of_the_service(
    server: str, governed: bool, tmp_path: Path
) -> None:
    machine = Recorded({"chronyc -n -c tracking": good(SYNCED.replace("192.0.2.1", server))})
    clock = HandClock(MADE)
    own = HostClock(machine, clock, "https://192.0.2.10:8090", Board(tmp_path / "clock.json", clock.now))
    assert finish(own._is_governed()) is governed
