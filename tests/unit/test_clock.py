# SPDX-License-Identifier: Apache-2.0
"""A clock that is set says so, and the hardware's clock runs in UTC."""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta, timezone

from muster.clock import pack_rtc, set_clock
from tests.clocks import EPOCH, HandClock

NOW = datetime(2026, 7, 1, 23, 30, 5, tzinfo=UTC)


def test_the_hardware_is_told_the_time_in_utc_whatever_zone_it_was_said_in() -> None:
    for zone in (UTC, timezone(timedelta(hours=2)), timezone(timedelta(hours=-9))):
        fields = struct.unpack("9i", pack_rtc(NOW.astimezone(zone)))
        assert fields[:6] == (5, 30, 23, 1, 6, 126)


def test_what_is_told_has_both_times_and_the_reason() -> None:
    change = set_clock(HandClock(EPOCH), NOW, "the medium is younger")
    assert (change.was, change.now) == (EPOCH, NOW)
    assert change.words == (
        "was 1970-01-01 00:00:00 UTC, and was set to 2026-07-01 23:30:05 UTC: the medium is younger"
    )
    assert "no such file" in set_clock(HandClock(EPOCH, "no such file"), NOW, "x").words
