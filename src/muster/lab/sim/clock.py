# SPDX-License-Identifier: Apache-2.0
"""A clock that is wound by what is to happen next: a heap of moments, and of what is called at each."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import TypeAlias

Callback: TypeAlias = Callable[[float], None]


class Appointment:
    """Something that is to happen; it can be called off until it does."""

    __slots__ = ("callback", "moment")

    def __init__(self, moment: float, callback: Callback) -> None:
        self.moment = moment
        self.callback: Callback | None = callback

    def cancel(self) -> None:
        """Call it off."""
        self.callback = None

    @property
    def is_open(self) -> bool:
        """Whether it is still to happen."""
        return self.callback is not None


class Scheduler:
    """Calls what is due in the order of time, and within a moment in the order in which it was asked for."""

    def __init__(self, start: float = 0.0) -> None:
        self.now = start
        self.calls = 0
        """How many calls were made: what a simulation costs."""
        self._heap: list[tuple[float, int, Appointment]] = []
        self._asked = 0

    def at(self, moment: float, callback: Callback) -> Appointment:
        """Call at a moment; one that has passed means now, after all that is due now already."""
        if math.isnan(moment):
            raise ValueError("not a moment")
        appointment = Appointment(max(moment, self.now), callback)
        heapq.heappush(self._heap, (appointment.moment, self._asked, appointment))
        self._asked += 1
        return appointment

    def after(self, delay_s: float, callback: Callback) -> Appointment:
        """Call after a while."""
        return self.at(self.now + delay_s, callback)

    def next_moment(self) -> float | None:
        """When something happens next, if anything does."""
        while self._heap and not self._heap[0][2].is_open:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def step(self) -> bool:
        """Do the next thing; False when there is none."""
        if self.next_moment() is None:
            return False
        moment, _, appointment = heapq.heappop(self._heap)
        callback, appointment.callback = appointment.callback, None
        self.now = moment
        self.calls += 1
        if callback is not None:
            callback(moment)
        return True

    def run(self, until: float = math.inf, *, is_over: Callable[[], bool] = lambda: False) -> None:
        """Do one thing after another until a moment, until it is over, or until nothing is left to happen."""
        while not is_over():
            moment = self.next_moment()
            if moment is None or moment > until:
                break
            self.step()
        if not is_over() and until != math.inf:
            self.now = max(self.now, until)
