# SPDX-License-Identifier: Apache-2.0
"""A host tells what is written into its journal."""

from __future__ import annotations

import pytest

from muster.agent.journal import Read, parse_journal, read_journal, tell_journal
from muster.client.calls import Refused, Unreachable
from muster.run import Said
from tests.unit.agent.steps.recorded import Recorded, finish, good

FIRST = "12:00:00+00:00 a muster[1]: one\n12:00:01+00:00 a muster[1]: two\n-- cursor: s=1;i=2\n"
SECOND = "2026-03-01T12:00:05+00:00 a muster[1]: three\n-- cursor: s=1;i=3\n"


class Enough(Exception):
    """It ran for long enough."""


class Ear:
    """Takes lines, or refuses them in the order that is given."""

    def __init__(self, *troubles: Exception | None) -> None:
        self.told: list[tuple[str, ...]] = []
        self._troubles = list(troubles)

    async def log_lines(self, lines: tuple[str, ...]) -> None:
        trouble = self._troubles.pop(0) if self._troubles else None
        if trouble is not None:
            raise trouble
        self.told.append(lines)


def run(machine: Recorded, ear: Ear, rounds: int, *, is_known: bool = True) -> list[float]:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) > rounds:
            raise Enough

    with pytest.raises(Enough):
        finish(tell_journal(machine, ear, lambda: is_known, sleep))
    return slept


def test_each_line_is_told_once() -> None:
    machine = Recorded({"journalctl": [good(FIRST), good(SECOND), good("-- cursor: s=1;i=3\n")]})
    ear = Ear()
    run(machine, ear, 4)
    assert [[line[-5:].strip(" :") for line in lines] for lines in ear.told] == [["one", "two"], ["three"]]
    assert "--after-cursor" not in machine.asked[0]
    assert "--after-cursor=s=1;i=2" in machine.asked[1]


def test_what_was_not_taken_is_told_again() -> None:
    machine = Recorded({"journalctl": [good(FIRST), good(FIRST)]})
    ear = Ear(Unreachable("https://192.0.2.1", "away"))
    run(machine, ear, 2)
    assert len(ear.told) == 1
    assert "--after-cursor" not in machine.asked[1]


def test_a_service_that_refuses_is_asked_seldom() -> None:
    slept = run(Recorded({"journalctl": good(FIRST)}), Ear(Refused(404, "there is no such thing")), 3)
    assert max(slept) > 30


def test_nothing_is_told_before_the_host_is_known_or_where_there_is_no_journal() -> None:
    machine, ear = Recorded({"journalctl": good(FIRST)}), Ear()
    run(machine, ear, 3, is_known=False)
    assert machine.asked == []
    run(Recorded({}), ear, 3)
    assert ear.told == []
    assert finish(read_journal(Recorded({"journalctl": Said(1, "", "no")}), "c")) == Read((), "c")


def test_secrets_and_control_characters_are_not_told() -> None:
    found = parse_journal('a: {"password": "hunter2-hunter2"} \x1b[31mred\n\n' + "x" * 9000)
    assert "hunter2" not in found.lines[0]
    assert "\x1b" not in found.lines[0]
    assert len(found.lines[1]) <= 1000
