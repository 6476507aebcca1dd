# SPDX-License-Identifier: Apache-2.0
"""A clock that is set is noticed; one that drifts is not worth a word."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from muster.service.clock import WatchedClock

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Times:
    """What two clocks say."""

    def __init__(self) -> None:
        self.shown, self.steady_s = NOW, 1000.0
        self.watched = WatchedClock(lambda: self.shown, lambda: self.steady_s)

    def pass_(self, seconds: float, *, shown: float) -> timedelta | None:
        self.steady_s += seconds
        self.shown += timedelta(seconds=shown)
        now, jump = self.watched.look()
        assert now == self.shown
        return jump


@pytest.mark.parametrize("days", [365, -365])
def test_a_clock_that_is_set_is_noticed_once(days: int) -> None:
    times = Times()
    assert times.pass_(3600, shown=3600) is None
    assert times.pass_(10, shown=10 + days * 86400) == timedelta(days=days)
    assert times.pass_(3600, shown=3600) is None


def test_a_clock_that_drifts_is_left_alone() -> None:
    times = Times()
    assert [times.pass_(3600, shown=3630) for _ in range(10)] == [None] * 10


def test_a_machine_that_slept_is_like_a_clock_that_was_set() -> None:
    assert Times().pass_(1, shown=7200) == timedelta(seconds=7199)


def test_a_clock_of_a_simulation_is_never_set() -> None:
    shown = iter([NOW, NOW, NOW + timedelta(days=1)])
    watched = WatchedClock(lambda: next(shown), None)
    assert [watched.look()[1] for _ in range(2)] == [None, None]
