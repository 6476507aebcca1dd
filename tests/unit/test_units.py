# SPDX-License-Identifier: Apache-2.0
"""Sizes and times in words."""

from __future__ import annotations

from datetime import timedelta

import pytest

from muster.errors import UserError
from muster.units import parse_span, render_age, render_clock, render_size


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
