# SPDX-License-Identifier: Apache-2.0
"""Progress that is nothing but time."""

from __future__ import annotations

import pytest

from muster.cli import pace, progress
from muster.cli.pace import Pace
from muster.lab.capacity import expected_s
from tests.unit.cli.test_progress import Terminal


def test_time_is_the_progress_and_no_part_runs_over_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal(redraws=True)
    monkeypatch.setattr(progress, "_screen", lambda: terminal.screen)
    monkeypatch.setattr(pace, "_TICK_S", 3600.0)
    with Pace("building", 100) as work:
        assert terminal.text == ""
        work.go(0, 60)
        for _ in range(50):
            terminal.clock.now += 1
            work.pass_time(1)
        assert terminal.lines() == ["[##########..........] building: 50% (50 s of 100 s, 0:50 left)"]
        for _ in range(50):
            terminal.clock.now += 1
            work.pass_time(1)
        assert "60 s of 100 s, 0:40 left" in terminal.lines()[0]
        work.go(80, 100)
        terminal.clock.now += 1
        work.pass_time(1)
        assert "81 s of 100 s, 0:19 left" in terminal.lines()[0]
    assert terminal.lines() == ["building: 81 s in 1:41", ""]


@pytest.mark.parametrize(
    ("machines", "accel", "cpus", "seconds"), [(1, "tcg", 2, 75), (3, "tcg", 2, 150), (3, "kvm", 8, 20)]
)
def test_how_long_boots_take(machines: int, accel: str, cpus: int, seconds: int) -> None:
    assert expected_s(machines, accel, cpus) == seconds
