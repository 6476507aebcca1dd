# SPDX-License-Identifier: Apache-2.0
"""Telling how far long work is, without holding it up: when telling is slow, only the newest is told."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from muster.node.pace import Pace, Report, Seen, advance

Clock = Callable[[], float]
See = Callable[[Seen], None]


@asynccontextmanager
async def telling(tell: Callable[[Report], Awaitable[None]], clock: Clock) -> AsyncIterator[See]:
    """Gives what is to be called with each progress; what is worth telling was told when it ends."""
    news = _News(clock)
    task = asyncio.create_task(_tell_all(news, tell))
    try:
        yield news.see
        news.end()
        await task
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


class _News:
    """What is to be told next."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._pace = Pace(clock())
        self._newest: Report | None = None
        self._over = False
        self._changed = asyncio.Event()

    def see(self, seen: Seen) -> None:
        self._pace, report = advance(self._pace, seen, self._clock())
        if report is not None:
            self._newest = report
            self._changed.set()

    def end(self) -> None:
        self._over = True
        self._changed.set()

    async def next(self) -> Report | None:
        """Wait for the next; None when there is none any more."""
        while self._newest is None and not self._over:
            self._changed.clear()
            await self._changed.wait()
        newest, self._newest = self._newest, None
        return newest


async def _tell_all(news: _News, tell: Callable[[Report], Awaitable[None]]) -> None:
    while (report := await news.next()) is not None:
        await tell(report)
