# SPDX-License-Identifier: Apache-2.0
"""The simulated clock: in order of time, and within a moment in the order of asking."""

from __future__ import annotations

import math
from functools import partial

import pytest

from muster.lab.sim.agenda import Agenda, Backoff
from muster.lab.sim.clock import Scheduler
from muster.lab.sim.crew import make_random


def test_things_happen_in_order() -> None:
    clock = Scheduler(100.0)
    seen: list[tuple[str, float]] = []
    note = lambda word, now: seen.append((word, now))  # noqa: E731
    clock.at(103, partial(note, "c"))
    clock.at(101, partial(note, "a"))
    clock.after(1, partial(note, "b"))
    clock.at(50, partial(note, "late"))
    clock.run()
    assert seen == [("late", 100), ("a", 101), ("b", 101), ("c", 103)]
    assert clock.now == 103
    assert clock.calls == 4


def test_what_happens_can_ask_for_more() -> None:
    clock = Scheduler()
    seen: list[float] = []

    def tick(now: float) -> None:
        seen.append(now)
        if now < 3:
            clock.after(1, tick)

    clock.at(1, tick)
    clock.run()
    assert seen == [1, 2, 3]


def test_an_appointment_is_called_off() -> None:
    clock = Scheduler()
    seen: list[float] = []
    clock.at(1, seen.append).cancel()
    clock.at(2, seen.append)
    assert clock.next_moment() == 2
    clock.run()
    assert seen == [2]
    assert not clock.step()


def test_it_stops_at_a_moment_or_when_it_is_over() -> None:
    clock = Scheduler()
    seen: list[float] = []
    for moment in (1, 2, 3, 4):
        clock.at(moment, seen.append)
    clock.run(2.5)
    assert (seen, clock.now) == ([1, 2], 2.5)
    clock.run(is_over=lambda: len(seen) == 3)
    assert (seen, clock.now) == ([1, 2, 3], 3)


def test_no_moment() -> None:
    with pytest.raises(ValueError, match="not a moment"):
        Scheduler().at(math.nan, lambda _: None)


def test_an_agenda_tells_what_it_drops() -> None:
    agenda: Agenda[str] = Agenda()
    for moment, event in ((3, "c"), (1, "a"), (1, "b"), (2, "kept")):
        agenda.push(moment, event)
    assert agenda.keep(lambda event: event == "kept") == [(1, "a"), (1, "b"), (3, "c")]
    assert (agenda.due(), agenda.pop(1.9), agenda.pop(2), agenda.due()) == (2, None, "kept", None)


def test_a_backoff_grows_to_a_minute_and_begins_anew() -> None:
    backoff = Backoff(make_random(1))
    waits = [backoff.next_s() for _ in range(30)]
    assert 0.25 <= waits[0] <= 0.75
    assert all(30 <= wait <= 90 for wait in waits[-10:])
    assert len(set(waits)) == len(waits)
    backoff.reset()
    assert backoff.next_s() <= 0.75
