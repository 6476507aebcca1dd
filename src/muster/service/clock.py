# SPDX-License-Identifier: Apache-2.0
"""The time of the service, and whether somebody put the clock forward or back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

NOTABLE: Final = timedelta(seconds=60)
"""Less is not worth a word: clocks are set right a little all the time."""
_NOTABLE_S: Final = NOTABLE.total_seconds()


class WatchedClock:
    """A clock that anybody may set, held against one that nobody can."""

    def __init__(self, clock: Callable[[], datetime], steady: Callable[[], float] | None) -> None:
        """``steady`` gives seconds that only ever grow; none: the clock is never set."""
        self._clock, self._steady = clock, steady
        self._began = self._difference(clock())

    def _difference(self, now: datetime) -> float:
        return now.timestamp() - self._steady() if self._steady is not None else 0.0

    def look(self) -> tuple[datetime, timedelta | None]:
        """The time; and by how much the clock was set since the last look, if it was."""
        now = self._clock()
        difference = self._difference(now)
        moved_s = difference - self._began
        self._began = difference
        return now, timedelta(seconds=moved_s) if abs(moved_s) >= _NOTABLE_S else None
