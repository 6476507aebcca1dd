# SPDX-License-Identifier: Apache-2.0
"""A clock that belongs to nobody: it says what it is told to, and remembers how it was set."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from muster.errors import ExternalError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class HandClock:
    """Goes on only when somebody moves it."""

    def __init__(self, now: datetime, trouble: str = "", *, stuck: bool = False) -> None:
        self._now, self._trouble, self._stuck = now, trouble, stuck
        self.sets: list[datetime] = []
        self.when_set: Callable[[], None] = lambda: None

    def now(self) -> datetime:
        return self._now

    def move(self, by: timedelta) -> None:
        self._now += by

    def set(self, moment: datetime) -> str:
        if self._stuck:
            raise ExternalError("the clock cannot be set: operation not permitted", hint="be root")
        self._now = moment
        self.sets.append(moment)
        self.when_set()
        return self._trouble
