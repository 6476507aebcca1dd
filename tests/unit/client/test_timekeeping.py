# SPDX-License-Identifier: Apache-2.0
"""Two clocks are compared as exactly as an answer allows, and no more is claimed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from muster.client.target import Target
from muster.client.timekeeping import Reading, Timekeeper, find_step, is_doubtful, parse_date
from muster.clock import Change
from tests.clocks import EPOCH, HandClock
from tests.unit.service.running import finish

DATE = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


@pytest.mark.parametrize("ahead", [-2, -1, 0, 1, 2, 3, 4])
def test_what_an_answer_cannot_tell_apart_agrees(ahead: float) -> None:
    reading = Reading(DATE + seconds(ahead), seconds(0), DATE)
    assert find_step(reading) is None
    assert not is_doubtful(DATE + seconds(ahead), DATE)


def test_an_answer_that_took_long_tells_less() -> None:
    assert find_step(Reading(DATE - seconds(20), seconds(0.1), DATE)) is not None
    assert find_step(Reading(DATE - seconds(20), seconds(19), DATE)) is None


@pytest.mark.parametrize(
    "own", [EPOCH, datetime(2031, 5, 1, tzinfo=UTC), DATE - seconds(9), DATE + seconds(9)]
)
def test_a_clock_that_differs_is_put_where_the_other_is(own: datetime) -> None:
    step = find_step(Reading(own, seconds(0.2), DATE))
    assert step is not None
    assert abs(own + step - DATE) <= seconds(2)
    assert is_doubtful(own, DATE)


def test_dates() -> None:
    assert parse_date("Sun, 01 Mar 2026 12:00:00 GMT") == DATE
    for text in ("", "yesterday", "Sun, 01 Mar 2026 12:00:00 -0000"):
        assert parse_date(text) is None


@pytest.mark.parametrize(
    "target", [Target("https://192.0.2.10:8090"), Target("http://192.0.2.10:8090", authority=Path("x"))]
)
def test_whom_nobody_proves_nobody_believes(target: Target) -> None:
    told: list[Change] = []

    async def is_governed() -> bool:
        return False

    clock = HandClock(EPOCH)

    async def scene() -> bool:
        keeper = Timekeeper(clock, is_governed, told.append)
        await keeper.hear(target, "Sun, 01 Mar 2026 12:00:00 GMT")
        return await keeper.agree(target)

    assert finish(scene()) is False
    assert clock.sets == [] == told
