# SPDX-License-Identifier: Apache-2.0
"""Progress of work that tells nothing but which part of it runs: each part is known to take a while.

with Pace("building", 170) as pace:
    pace.go(0, 75)        # up to 75 s of 170 s: time itself is the progress
    ...
    pace.go(75, 83)       # the next part began, sooner or later than expected
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Final

from muster.cli import progress

_TICK_S: Final = 0.5


class Pace:
    """A bar of seconds; it appears with the first part."""

    def __init__(self, label: str, total_s: int) -> None:
        self._label, self._total_s = label, total_s
        self._stack = ExitStack()
        self._ended, self._lock = Event(), Lock()
        self._advance: Callable[[int], None] | None = None
        self._done = self._limit = 0.0
        self._shown = 0

    def go(self, start_s: float, limit_s: float) -> None:
        """A part began: it is expected to take from here to there."""
        with self._lock:
            if self._advance is None:
                bar = progress.bar(self._label, total=self._total_s, unit="s")
                self._advance = self._stack.enter_context(bar)
            self._done, self._limit = float(start_s), float(limit_s)
            self._show()

    def pass_time(self, seconds: float) -> None:
        """So much time went by; work that takes longer than expected waits at the end of its part."""
        with self._lock:
            self._done = min(self._limit, self._done + seconds)
            self._show()

    def _show(self) -> None:
        if self._advance is not None:
            self._advance(int(self._done) - self._shown)
            self._shown = int(self._done)

    def _tick(self) -> None:
        while not self._ended.wait(_TICK_S):
            self.pass_time(_TICK_S)

    def __enter__(self) -> Pace:
        self._ticker = Thread(target=self._tick, daemon=True)
        self._ticker.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._ticker.join()
        self._stack.__exit__(kind, error, trace)
