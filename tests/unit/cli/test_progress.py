# SPDX-License-Identifier: Apache-2.0
"""The line that tells how far work is."""

from __future__ import annotations

import io
import logging

import pytest

from muster.cli import log, progress
from muster.cli.progress import Screen
from muster.errors import Interrupted


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Terminal:
    """A screen that can be read."""

    def __init__(self, *, redraws: bool, width: int = 100) -> None:
        self.clock = Clock()
        self.stream = io.StringIO()
        self.screen = Screen(self.stream, redraws, self.clock, lambda: width)

    @property
    def text(self) -> str:
        return self.stream.getvalue()

    def lines(self) -> list[str]:
        """What a person sees: every line as it was drawn last."""
        return [line.rpartition("\r\x1b[K")[2] for line in self.text.split("\n")]


def test_a_terminal() -> None:
    terminal = Terminal(redraws=True)
    with progress.bar("copying", total=100 << 20, screen=terminal.screen) as advance:
        for _ in range(5):
            terminal.clock.now += 1
            advance(10 << 20)
        assert terminal.lines() == [
            "[##########..........] copying: 50% (50 MiB of 100 MiB, 10 MiB/s, 0:05 left)"
        ]
    assert terminal.lines() == ["copying: 50 MiB in 0:05", ""]


def test_it_is_not_drawn_too_often() -> None:
    terminal = Terminal(redraws=True)
    with progress.bar("copying", total=1000, screen=terminal.screen) as advance:
        for _ in range(1000):
            terminal.clock.now += 0.001
            advance(1)
    assert 4 <= terminal.text.count("%") <= 7


def test_short_work_says_nothing() -> None:
    for redraws in (True, False):
        terminal = Terminal(redraws=redraws)
        with progress.bar("copying", total=10, screen=terminal.screen) as advance:
            terminal.clock.now += 0.4
            advance(10)
        assert terminal.text == ""


def test_no_terminal() -> None:
    terminal = Terminal(redraws=False)
    with progress.bar("counting", unit="files", screen=terminal.screen) as advance:
        for _ in range(12):
            terminal.clock.now += 1
            advance(3)
    assert terminal.lines() == [
        "counting: 15 files, 3 files/s",
        "counting: 30 files, 3 files/s",
        "counting: 36 files in 0:12",
        "",
    ]


def test_a_narrow_terminal() -> None:
    terminal = Terminal(redraws=True, width=20)
    with progress.bar("copying", total=100, screen=terminal.screen) as advance:
        terminal.clock.now += 1
        advance(50)
        assert terminal.lines() == ["copying: 50% (50 B "]


def test_work_that_was_begun_before_and_begins_anew() -> None:
    terminal = Terminal(redraws=True)
    with progress.bar("x", total=100, done=90, screen=terminal.screen) as advance:
        terminal.clock.now += 1
        advance(-90)
        assert "0% (0 B of 100 B)" in terminal.lines()[0]
        terminal.clock.now += 1
        advance(200)
        assert "100% (200 B of 100 B, 55 B/s)" in terminal.lines()[0]


def test_ctrl_c_leaves_a_clean_line() -> None:
    terminal = Terminal(redraws=True)

    def work() -> None:
        with progress.bar("x", total=100, screen=terminal.screen) as advance:
            terminal.clock.now += 1
            advance(5)
            raise Interrupted

    with pytest.raises(Interrupted):
        work()
    assert "5%" in terminal.text
    assert terminal.lines() == [""]


def test_it_steps_aside_for_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal(redraws=True)
    monkeypatch.setattr("sys.stderr", terminal.stream)
    log.start([])
    with progress.bar("x", total=100, screen=terminal.screen) as advance:
        terminal.clock.now += 1
        advance(5)
        logging.getLogger("muster.image").warning("look out")
        assert terminal.lines()[0] == "WARNING look out"
        assert "x: 5%" in terminal.lines()[1]
        with progress.bar("inner", screen=terminal.screen) as inner:
            advance(1)
            terminal.clock.now += 1
            inner(1)
            advance(1)
            assert "inner: 1 B" in terminal.lines()[1]
    log.start([])


def test_a_stream_that_is_closed() -> None:
    terminal = Terminal(redraws=True)
    with progress.bar("x", total=100, screen=terminal.screen) as advance:
        terminal.stream.close()
        terminal.clock.now += 1
        advance(5)


@pytest.mark.parametrize(("level", "as_json"), [("error", False), ("warn", False), ("info", True)])
def test_scripts_see_nothing(level: str, as_json: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal(redraws=True)
    monkeypatch.setattr(progress, "_screen", lambda: terminal.screen)
    log.start([])
    log.configure(level, None, as_json=as_json)
    with progress.bar("x", total=100) as advance:
        terminal.clock.now += 60
        advance(5)
    assert terminal.text == ""
    log.start([])
    with progress.bar("x", total=100) as advance:
        terminal.clock.now += 60
        advance(5)
    assert terminal.text
