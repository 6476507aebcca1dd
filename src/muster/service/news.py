# SPDX-License-Identifier: Apache-2.0
"""Who waits for news, and who is told: hosts that wait for instructions, people who follow along."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import contextmanager
from typing import Final

import msgspec

from muster.service.store.port import Change

_KEPT: Final = 1000
_BEHIND: Final = 500
"""Who falls so far behind is told to look at everything again."""


class News(msgspec.Struct, frozen=True):
    """Something changed."""

    number: int
    realm: str
    subjects: tuple[str, ...]
    """Kind and id of what changed, with a slash in between."""


class Newsroom:
    """Tells what changed, after it is durable."""

    def __init__(self) -> None:
        self.number = 0
        self._kept: deque[News] = deque(maxlen=_KEPT)
        self._followers: set[asyncio.Queue[News | None]] = set()
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self.is_closed = False
        """Whether the service ends: nobody waits any more."""

    def publish(self, changes: Iterable[Change]) -> None:
        """What was committed."""
        for change in changes:
            self.number += 1
            subjects = tuple(sorted({f"{each.kind}/{each.id}" for each in change.events}))
            news = News(self.number, change.realm, subjects)
            self._kept.append(news)
            for queue in list(self._followers):
                if queue.qsize() >= _BEHIND:
                    self._followers.discard(queue)
                    queue.put_nowait(None)
                else:
                    queue.put_nowait(news)

    async def follow(self, after: int | None = None) -> AsyncGenerator[News | None, None]:
        """All news from a number on; None: some were missed, so look at everything again."""
        queue: asyncio.Queue[News | None] = asyncio.Queue()
        if after is not None:
            if (self._kept and after < self._kept[0].number - 1) or after > self.number:
                queue.put_nowait(None)
            for news in self._kept:
                if news.number > after:
                    queue.put_nowait(news)
        self._followers.add(queue)
        try:
            while not self.is_closed or not queue.empty():
                yield await queue.get()
                if queue not in self._followers and queue.empty():
                    self._followers.add(queue)
        finally:
            self._followers.discard(queue)

    @contextmanager
    def _bell(self, host: str) -> Iterator[asyncio.Event]:
        bell = asyncio.Event()
        bells = self._waiting.setdefault(host, set())
        bells.add(bell)
        try:
            yield bell
        finally:
            bells.discard(bell)
            if not bells:
                self._waiting.pop(host, None)

    async def wait(self, host: str, seconds: float) -> bool:
        """Wait until a host may have something to do, or something else that has a name may be there."""
        with self._bell(host) as bell:
            try:
                async with asyncio.timeout(seconds):
                    await bell.wait()
            except TimeoutError:
                return False
        return True

    def call(self, hosts: Iterable[str]) -> None:
        """These hosts may have something to do."""
        for host in hosts:
            for bell in self._waiting.get(host, ()):
                bell.set()

    def close(self) -> None:
        """The service ends: call all, so that they come again when it is back."""
        self.is_closed = True
        self.call(list(self._waiting))
        for queue in self._followers:
            queue.put_nowait(None)

    @property
    def waiting(self) -> int:
        """How many hosts wait; others wait for what has a slash in its name."""
        return sum("/" not in name for name in self._waiting)
