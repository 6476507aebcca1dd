# SPDX-License-Identifier: Apache-2.0
"""How the service does something later or beside its answers: with a loop, or on the clock of a model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Handle(Protocol):
    """Something that was put off, and can be called off."""

    def cancel(self) -> object: ...


class Background(Protocol):
    """What goes on beside the answer to a request."""

    def later(self, seconds: float, call: Callable[[], None]) -> Handle:
        """Call something after a while."""

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something without waiting for it."""

    async def compute(self, function: Callable[[], T]) -> T:
        """Do what takes long while others are answered."""

    async def fetch(self, function: Callable[[], T]) -> T:
        """Do what waits for a disk or another machine while others are answered."""

    async def end(self) -> None:
        """Leave what was started."""


class LoopBackground:
    """The running loop and its threads."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def later(self, seconds: float, call: Callable[[], None]) -> Handle:
        return asyncio.get_running_loop().call_later(seconds, call)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def compute(self, function: Callable[[], T]) -> T:
        return await asyncio.to_thread(function)

    async def fetch(self, function: Callable[[], T]) -> T:
        return await asyncio.to_thread(function)

    async def end(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
