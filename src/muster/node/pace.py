# SPDX-License-Identifier: Apache-2.0
"""How far and how fast something is written or read, and when that is worth telling."""

from __future__ import annotations

import re
from typing import Final

from muster.frozen import dataclass
from muster.units import render_clock, render_size

_LINE: Final = re.compile(
    r"Read \S+ (?P<done>[0-9.]+) (?P<unit>\w+)"
    r"(?:/(?P<total>[0-9.]+) (?P<of>\w+) \((?P<percent>[0-9]+)%\))?"
)
_FACTORS: Final[dict[str, int]] = {"B": 1} | {
    f"{letter}iB": 1024**power for power, letter in enumerate("KMGTPE", start=1)
}
_EVERY_PERCENT: Final = 5
_EVERY_S: Final = 5.0


@dataclass(frozen=True)
class Seen:
    """How far it is."""

    done_bytes: int
    total_bytes: int | None = None
    percent: int | None = None


@dataclass(frozen=True)
class Report:
    """What people are told."""

    percent: int | None
    info: str


@dataclass(frozen=True)
class Pace:
    """What was seen first, and told last."""

    began_s: float
    first_bytes: int = 0
    told_s: float | None = None
    told_percent: int = 0


def parse_progress(line: str) -> Seen | None:
    """A line of coreos-installer about what it has read: ``Read disk 1.2 GiB/2.5 GiB (48%)``."""
    found = _LINE.fullmatch(line.strip().removeprefix("> "))
    if found is None:
        return None
    done = _parse_size(found["done"], found["unit"])
    total = _parse_size(found["total"], found["of"]) if found["total"] else None
    percent = min(int(found["percent"]), 100) if found["percent"] else None
    return Seen(done, total, percent) if done is not None else None


def _parse_size(number: str, unit: str) -> int | None:
    try:
        return round(float(number) * _FACTORS[unit])
    except (ValueError, KeyError):
        return None


def advance(pace: Pace, seen: Seen, now_s: float) -> tuple[Pace, Report | None]:
    """Tell it when another 5 % are done or 5 s have passed, and at the end."""
    percent = seen.percent or 0
    is_due = (
        pace.told_s is None
        or now_s - pace.told_s >= _EVERY_S
        or percent - pace.told_percent >= _EVERY_PERCENT
        or percent == 100 > pace.told_percent
    )
    if not is_due:
        return pace, None
    told = Pace(pace.began_s, pace.first_bytes, now_s, percent)
    return told, Report(seen.percent, _render(pace, seen, now_s))


def _render(pace: Pace, seen: Seen, now_s: float) -> str:
    total = f" of {render_size(seen.total_bytes)}" if seen.total_bytes else ""
    parts = [f"{render_size(seen.done_bytes)}{total}"]
    spent_s, moved = now_s - pace.began_s, seen.done_bytes - pace.first_bytes
    if spent_s >= 1 and moved > 0:
        rate = moved / spent_s
        parts.append(f"{render_size(rate)}/s")
        if seen.total_bytes and seen.total_bytes > seen.done_bytes:
            parts.append(f"{render_clock((seen.total_bytes - seen.done_bytes) / rate)} left")
    return ", ".join(parts)
