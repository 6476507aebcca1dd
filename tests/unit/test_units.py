# SPDX-License-Identifier: Apache-2.0
"""Sizes and times in words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from muster.errors import UserError
from muster.units import parse_span, parse_time, render_age, render_clock, render_size

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (10_240, "10 KiB"), (1 << 20, "1.0 MiB"),
     ((1 << 20) - 1, "1.0 MiB"), (1_288_490_188, "1.2 GiB"), (5 << 50, "5120 TiB")],
)  # fmt: skip
def test_sizes(size: int, text: str) -> None:
    assert render_size(size) == text


def test_times() -> None:
    assert [render_clock(seconds) for seconds in (-1, 8.4, 750, 3723)] == ["0:00", "0:08", "12:30", "1:02:03"]
    ages = [timedelta(seconds=seconds) for seconds in (-5, 59, 60, 7200, 86_400 * 3)]
    assert [render_age(age) for age in ages] == [
        "just now", "just now", "1 minute ago", "2 hours ago", "3 days ago",
    ]  # fmt: skip


def test_ages() -> None:
    assert [parse_span(text) for text in ("12h", " 30D", "4w", "0s")] == [
        timedelta(hours=12), timedelta(days=30), timedelta(weeks=4), timedelta(0),
    ]  # fmt: skip
    for text in ("", "30", "d", "-1d", "1 day", "1y"):
        with pytest.raises(UserError, match="is not a time span"):
            parse_span(text)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-03-01T12:00:00Z", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("2026-03-01 12:00", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=UTC)),
        ("2026-03-01T14:00:00.5+02:00", datetime(2026, 3, 1, 12, 0, 0, 500_000, tzinfo=UTC)),
        (" 2h ", NOW - timedelta(hours=2)),
        ("1D12H", NOW - timedelta(hours=36)),
    ],
)
def test_moments(text: str, time: datetime) -> None:
    assert parse_time(text, NOW) == time


@pytest.mark.parametrize(
    "text", ["", "now", "12:00", "2026-02-30", "2026-03-01T25:00Z", "-2h", "0001-01-01T00:00+01:00"]
)
def test_no_moments(text: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_time(text, NOW)
    assert repr(text) in caught.value.message
    assert caught.value.hint
