# SPDX-License-Identifier: Apache-2.0
"""A host takes over the time of its service, so that all hosts of a site agree before certificates are made.

Who answers is proven by the authority on the medium before its time counts for anything. Only the dates of
its certificate are not looked at, because a clock that is wrong cannot judge them.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final

import aiohttp

from muster.client.target import Target, make_context
from muster.clock import Change, Clock, set_clock
from muster.errors import MusterError
from muster.frozen import dataclass

TOLERANCE: Final = timedelta(seconds=2)
"""Certificates and tokens do not mind so much, and what is finer is chrony's work, not that of one answer."""
_COARSE: Final = timedelta(seconds=2)
"""Answers tell whole seconds, which the server looked up at most a second ago."""
_LOOKS: Final = 2
"""The first one sets up the connection, which takes time of its own."""
_PATIENCE_S: Final = 10.0
_REST_S: Final = 30.0
"""What was measured counts for so long: clocks that somebody else keeps apart are not compared all day."""
_logger: Final = logging.getLogger(__name__)
_WHY: Final = "that is the time of the service, which all hosts of the site agree on"


@dataclass(frozen=True)
class Reading:
    """One look at two clocks: what ours said when the service was asked, and what the service answered."""

    sent: datetime
    took: timedelta
    date: datetime


def find_step(reading: Reading) -> timedelta | None:
    """By how much our clock is to be put forward; None when they agree, as far as one can tell."""
    least = reading.date - (reading.sent + reading.took)
    most = reading.date + _COARSE - reading.sent
    if least <= TOLERANCE and most >= -TOLERANCE:
        return None
    return (least + most) / 2


def is_doubtful(now: datetime, date: datetime) -> bool:
    """Whether an answer that just came makes it worth to compare the clocks."""
    return not -TOLERANCE <= now - date <= TOLERANCE + _COARSE


def parse_date(text: str) -> datetime | None:
    """The time in the header of an answer."""
    try:
        found = parsedate_to_datetime(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


class Timekeeper:
    """Keeps the clock of a host with that of its service."""

    def __init__(
        self,
        clock: Clock,
        is_governed: Callable[[], Awaitable[bool]],
        tell: Callable[[Change], None],
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        """``is_governed``: whether a time server has the say, so that the clock is not ours to set."""
        self._clock, self._is_governed, self._tell, self._steady = clock, is_governed, tell, steady
        self._lock = asyncio.Lock()
        self._rest_until = 0.0

    async def hear(self, target: Target, text: str) -> None:
        """The service said in an answer that it is this time: compare the clocks, if that is worth it."""
        date = parse_date(text)
        if date is not None and is_doubtful(self._clock.now(), date):
            await self.agree(target)

    async def agree(self, target: Target) -> bool:
        """Compare the clocks, and set ours if they differ; whether it was set. Never an error."""
        if target.authority is None or not target.url.startswith("https://"):
            return False  # Anybody could be there.
        async with self._lock:
            if self._steady() < self._rest_until:
                return False
            reading = await self._look(target)
            if reading is None:
                return False
            self._rest_until = self._steady() + _REST_S
            step = find_step(reading)
            if step is None or await self._is_governed():
                return False
            try:
                change = set_clock(self._clock, self._clock.now() + step, _WHY)
            except MusterError as error:
                _logger.warning("%s; %s", error.message, error.hint)
                return False
            self._tell(change)
            return True

    async def _look(self, target: Target) -> Reading | None:
        connector = aiohttp.TCPConnector(ssl=make_context(target.authority, at_any_time=True))
        timeout = aiohttp.ClientTimeout(total=_PATIENCE_S)
        best: Reading | None = None
        try:
            async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
                for _ in range(_LOOKS):
                    sent, began = self._clock.now(), self._steady()
                    async with session.head(target.base, allow_redirects=False) as response:
                        took = timedelta(seconds=self._steady() - began)
                        date = parse_date(response.headers.get("Date", ""))
                    if date is not None and (best is None or took < best.took):
                        best = Reading(sent, took, date)
        except (aiohttp.ClientError, OSError, TimeoutError):
            return best
        return best
