# SPDX-License-Identifier: Apache-2.0
"""Sizes and times, as people write and read them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from muster.errors import UserError

_STEP: Final = 1024
_SIZES: Final = ("B", "KiB", "MiB", "GiB", "TiB")
_SPAN: Final = re.compile(r"(?:\d{1,6}[smhdw])+", re.ASCII)
_PART: Final = re.compile(r"(\d+)([smhdw])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_WORDS: Final = ((86_400, "day"), (3600, "hour"), (60, "minute"))


def render_size(size_bytes: float) -> str:
    """A number of bytes with a unit and as many digits as help: 512 B, 1.2 GiB, 88 MiB."""
    value = float(size_bytes)
    for unit in _SIZES:
        if round(value) < _STEP or unit == _SIZES[-1]:
            digits = 1 if value < 10 and unit != "B" else 0
            return f"{value:.{digits}f} {unit}"
        value /= _STEP
    raise AssertionError(size_bytes)


def render_clock(seconds: float) -> str:
    """A time span on a clock: 0:08, 12:30, 1:02:03."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def render_age(age: timedelta) -> str:
    """How long ago something was: 3 days ago, just now."""
    seconds = age.total_seconds()
    for length, word in _WORDS:
        count = int(seconds // length)
        if count >= 1:
            return f"{count} {word}{'' if count == 1 else 's'} ago"
    return "just now"


def parse_span(text: str) -> timedelta:
    """A time span as flags take it: 12h, 30d, 1d12h."""
    written = text.strip().lower()
    if not _SPAN.fullmatch(written):
        raise UserError(
            f"{text!r} is not a time span", hint="write a number and one of s, m, h, d, w: 12h, 30d, 1d12h"
        )
    return timedelta(seconds=sum(int(number) * _SECONDS[unit] for number, unit in _PART.findall(written)))


def parse_time(text: str, now: datetime) -> datetime:
    """A moment as flags take it: 2026-03-01T12:00:00Z, 2026-03-01 12:00 (UTC), or how long ago it was: 2h."""
    written = text.strip()
    if _SPAN.fullmatch(written.lower()):
        return now - parse_span(written)
    try:
        found = datetime.fromisoformat(written)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise UserError(
            f"{text!r} is not a time",
            hint="write 2026-03-01T12:00:00Z, 2026-03-01 12:00 (UTC), or how long ago it was: 90s, 2h, 3d",
        ) from error
