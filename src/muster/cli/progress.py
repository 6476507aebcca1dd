# SPDX-License-Identifier: Apache-2.0
"""The one display of progress: a line that is redrawn on a terminal, a line now and then elsewhere.

    with progress.bar("copying the base image", total=size_bytes, unit="B") as advance:
        advance(len(chunk))

It goes to standard error, steps aside for messages, and is silent when a script reads our output.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import Final, TextIO

from muster.cli import log
from muster.frozen import dataclass
from muster.units import render_clock, render_size

_REDRAW_S: Final = 0.1
_FIRST_S: Final = 0.5
"""Work that is done sooner is not worth a line."""
_LINE_S: Final = 5.0
_WINDOW_S: Final = 10.0
"""The rate is that of the last seconds: what was a minute ago says little about the end."""
_BAR_WIDTH: Final = 20
_CLEAR: Final = "\r\x1b[K"


@dataclass(frozen=True)
class Screen:
    """Where progress is shown."""

    stream: TextIO
    redraws: bool
    clock: Callable[[], float] = time.monotonic
    width: Callable[[], int] = lambda: shutil.get_terminal_size().columns


@dataclass
class Work:
    """How far some work is."""

    label: str
    total: int | None
    unit: str
    done: int
    began: float
    samples: deque[tuple[float, int]] = field(default_factory=deque)

    def advance(self, count: int, now: float) -> None:
        """So much more is done; less, when it begins anew."""
        self.done += count
        if not self.samples or now - self.samples[-1][0] >= _REDRAW_S:
            self.samples.append((now, self.done))
        while len(self.samples) > 2 and now - self.samples[0][0] > _WINDOW_S:
            self.samples.popleft()

    def rate(self, now: float) -> float:
        """Per second, lately."""
        if not self.samples:
            return 0
        since, before = self.samples[0]
        return max(0.0, (self.done - before) / (now - since)) if now > since else 0


def render_work(work: Work, now: float) -> str:
    """How far it is, how fast it is, and how long it will take: as much of it as is known."""
    # Where seconds are counted, time itself is the progress.
    rate = 1.0 if work.unit == "s" else work.rate(now)
    parts = [_amount(work)]
    if rate and work.unit != "s":
        parts.append(f"{_count(rate, work.unit)}/s")
    if work.total and rate and work.done < work.total:
        parts.append(f"{render_clock((work.total - work.done) / rate)} left")
    if not work.total:
        return f"{work.label}: {', '.join(parts)}"
    share = min(1.0, work.done / work.total)
    return f"{work.label}: {int(share * 100)}% ({', '.join(parts)})"


def _amount(work: Work) -> str:
    done = _count(work.done, work.unit)
    return f"{done} of {_count(work.total, work.unit)}" if work.total else done


def _count(value: float, unit: str) -> str:
    return render_size(value) if unit == "B" else f"{value:.0f} {unit}".rstrip()


def _drawn(work: Work, now: float, width: int) -> str:
    """The line of a terminal; the bar goes first when there is little room."""
    text = render_work(work, now)
    room = width - 1 - len(text) - 3
    if work.total and room >= _BAR_WIDTH:
        filled = min(_BAR_WIDTH, work.done * _BAR_WIDTH // work.total)
        text = f"[{'#' * filled}{'.' * (_BAR_WIDTH - filled)}] {text}"
    return text[: max(1, width - 1)]


class _Display:
    """One piece of work on a screen."""

    def __init__(self, screen: Screen, work: Work) -> None:
        self._screen = screen
        self._work = work
        self._shown_at = work.began
        self._is_drawn = False
        self._was_shown = False

    def advance(self, count: int) -> None:
        with _state.lock:
            now = self._screen.clock()
            self._work.advance(count, now)
            wait = _LINE_S
            if self._screen.redraws:
                wait = _REDRAW_S if self._was_shown else _FIRST_S
            if now - self._shown_at >= wait and _state.stack[-1:] == [self]:
                self._show(now)

    def _show(self, now: float) -> None:
        self._shown_at, self._was_shown = now, True
        if self._screen.redraws:
            self._is_drawn = True
            self._write(_CLEAR + _drawn(self._work, now, self._screen.width()))
        else:
            self._write(render_work(self._work, now) + "\n")

    def hide(self) -> None:
        """Leave the line to somebody else."""
        if self._is_drawn:
            self._write(_CLEAR)
            self._is_drawn = False

    def restore(self) -> None:
        """Take the line back."""
        if self._screen.redraws and self._was_shown:
            self._show(self._screen.clock())

    def finish(self) -> None:
        """Work that took long enough to be shown leaves one line behind."""
        self.hide()
        if self._was_shown:
            work, took = self._work, self._screen.clock() - self._work.began
            self._write(f"{work.label}: {_count(work.done, work.unit)} in {render_clock(took)}\n")

    def _write(self, text: str) -> None:
        try:
            self._screen.stream.write(text)
            self._screen.stream.flush()
        except (OSError, ValueError):
            self._is_drawn = self._was_shown = False  # Nobody looks any more; the work goes on.


class _State:
    """What is shown now; the last one has the line."""

    def __init__(self) -> None:
        self.stack: list[_Display] = []
        self.lock = threading.RLock()


_state: Final = _State()


@contextmanager
def aside() -> Iterator[None]:
    """Whoever writes to the terminal does it within this."""
    with _state.lock:
        top = _state.stack[-1] if _state.stack else None
        if top is not None:
            top.hide()
        try:
            yield
        finally:
            if top is not None:
                top.restore()


@contextmanager
def bar(
    label: str, *, total: int | None = None, unit: str = "B", done: int = 0, screen: Screen | None = None
) -> Iterator[Callable[[int], None]]:
    """Show one piece of work until the context ends; an error or Ctrl-C leaves a clean line."""
    if screen is None and log.is_quiet():
        yield lambda _count: None
        return
    place = screen or _screen()
    began = place.clock()
    display = _Display(place, Work(label, total, unit, done, began, deque([(began, done)])))
    log.make_way(aside)
    with _state.lock:
        for other in _state.stack[-1:]:
            other.hide()
        _state.stack.append(display)
    try:
        yield display.advance
    except BaseException:
        display.hide()
        raise
    else:
        display.finish()
    finally:
        _state.stack.remove(display)


def _screen() -> Screen:
    stream = sys.stderr
    return Screen(stream, redraws=stream.isatty() and os.environ.get("TERM", "dumb") != "dumb")
