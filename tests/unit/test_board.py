# SPDX-License-Identifier: Apache-2.0
"""What programs of a host say of themselves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from muster.board import Board, read_notice

START = datetime(2026, 3, 1, tzinfo=UTC)


def test_a_notice_keeps_since_when_it_is_so(tmp_path: Path) -> None:
    now = START
    board = Board(tmp_path / "run/agent.json", lambda: now, lambda: (now - START) / timedelta(seconds=1))
    board.show("waiting", trouble="no route", fix="plug it in")
    now += timedelta(minutes=5)
    board.show("waiting", trouble="connection refused")
    notice = read_notice(tmp_path / "run/agent.json")
    assert notice is not None
    assert (notice.doing, notice.since, notice.trouble, notice.fix) == (
        "waiting",
        START,
        "connection refused",
        "",
    )
    board.show("working")
    notice = read_notice(tmp_path / "run/agent.json")
    assert notice is not None
    assert (notice.doing, notice.since, notice.trouble) == ("working", now, "")


def test_it_is_so_for_as_long_when_the_clock_is_set(tmp_path: Path) -> None:
    now, passed = datetime(1970, 1, 1, tzinfo=UTC), 0.0
    board = Board(tmp_path / "agent.json", lambda: now, lambda: passed)
    board.show("waiting")
    now, passed = START, 90.0
    for trouble in ("no route", "connection refused"):
        board.show("waiting", trouble=trouble)
        notice = read_notice(tmp_path / "agent.json")
        assert notice is not None
        assert notice.since == START - timedelta(seconds=90)


def test_a_board_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    Board(tmp_path / "file/agent.json", lambda: START).show("working")
    assert read_notice(tmp_path / "file/agent.json") is None
    (tmp_path / "bad.json").write_text("{")
    assert read_notice(tmp_path / "bad.json") is None
