# SPDX-License-Identifier: Apache-2.0
"""What hosts send is bounded: some at once, then a steady rate, and the rest is counted."""

from __future__ import annotations

import pytest

from muster.service.edge import rate
from muster.service.edge.rate import Allowance, Rate, Taken


def test_some_at_once_then_a_steady_rate() -> None:
    events = Allowance(Rate(burst=3, per_second=0.1))
    assert [events.take("a", 1, 0.0) for _ in range(5)] == [
        Taken(1),
        Taken(1),
        Taken(1),
        Taken(0, begins=True),
        Taken(0),
    ]
    assert events.take("b", 1, 0.0) == Taken(1), "another host has its own"
    assert events.take("a", 1, 10.0) == Taken(1, suppressed=2), "it is told once how many there were"
    assert events.take("a", 1, 20.0) == Taken(1)


def test_a_part_of_many_lines_is_granted() -> None:
    lines = Allowance(Rate(burst=10, per_second=1))
    assert lines.take("a", 25, 0.0) == Taken(10, begins=True)
    assert lines.take("a", 25, 0.0) == Taken(0)
    assert lines.take("a", 5, 100.0) == Taken(5, suppressed=40)


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate, "MAX_SOURCES", 10)
    events = Allowance(Rate(burst=1, per_second=1))
    for each in range(100):
        events.take(str(each), 1, 0.0)
    assert len(events._sources) == 10


def test_what_was_spent_too_much_is_waited_for() -> None:
    bytes_ = Allowance(Rate(burst=100, per_second=10))
    assert bytes_.wait("a", 0.0) == 0
    bytes_.charge("a", 99, 0.0)
    assert bytes_.wait("a", 0.0) == 0, "there is one left"
    bytes_.charge("a", 51, 0.0)
    assert bytes_.wait("a", 0.0) == 5.1
    assert bytes_.take("a", 5, 0.0) == Taken(0, begins=True), "nothing is granted meanwhile"
    assert bytes_.wait("a", 5.1) == pytest.approx(0)
    assert bytes_.wait("b", 0.0) == 0, "another host has its own"
