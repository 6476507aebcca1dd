# SPDX-License-Identifier: Apache-2.0
"""How far coreos-installer is, and how often that is told."""

from __future__ import annotations

import pytest

from muster.node.pace import Pace, Report, Seen, advance, parse_progress

GIB = 1 << 30


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("Read disk 1.2 GiB/2.5 GiB (48%)", Seen(round(1.2 * GIB), round(2.5 * GIB), 48)),
        ("> Read disk 64.0 MiB/64.0 MiB (100%)   ", Seen(64 << 20, 64 << 20, 100)),
        ("Read disk 512 B/1 KiB (50%)", Seen(512, 1024, 50)),
        ("Read disk 3.0 GiB", Seen(3 * GIB)),
        ("Install complete.", None),
        ("Read disk", None),
        ("Read disk 1.2.3 GiB", None),
        ("Read disk 12 apples/13 apples (99%)", None),
        ("Copying image from Read disk 1 GiB", None),
    ],
)
def test_lines(line: str, seen: Seen | None) -> None:
    assert parse_progress(line) == seen


def told(*steps: tuple[float, int]) -> list[int | None]:
    pace, reports = Pace(0.0), []
    for now, percent in steps:
        pace, report = advance(pace, Seen(percent * GIB, 100 * GIB, percent), now)
        reports += [report.percent] if report is not None else []
    return reports


def test_it_is_told_every_five_percent_or_five_seconds_and_at_the_end() -> None:
    assert told((0, 0), (1, 4), (2, 5), (3, 9), (4, 12), (8.9, 13), (9, 13), (9.5, 14)) == [0, 5, 12, 13]
    assert told((0, 0), (1, 98), (2, 100), (3, 100)) == [0, 98, 100]


def test_rate_and_what_is_left() -> None:
    _, report = advance(Pace(100.0), Seen(GIB, 3 * GIB, 33), 110.0)
    assert report == Report(33, "1.0 GiB of 3.0 GiB, 102 MiB/s, 0:20 left")


def test_without_an_end_there_is_no_percentage() -> None:
    _, report = advance(Pace(0.0), Seen(GIB), 1.0)
    assert report == Report(None, "1.0 GiB, 1.0 GiB/s")
