# SPDX-License-Identifier: Apache-2.0
"""How the service does something later or beside its answers: with a loop, or on the clock of a model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from threading import Semaphore
from typing import Any, Final, Protocol, TypeVar

from muster.service.refusals import Unavailable

T = TypeVar("T")
WORKERS: Final = 2
"""Threads that compute answers to requests."""
MAX_WAITING: Final = 16
"""Computations for requests that wait for a thread."""
MAX_SECONDS: Final = 30.0
"""How long a request waits for its computation."""
_OWN_WORKERS: Final = 4


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

    async def compute_answer(self, function: Callable[[], T]) -> T:
        """Do the same for a request; Unavailable when no thread is free for it, or it takes too long."""

    async def fetch(self, function: Callable[[], T]) -> T:
        """Do what waits for a disk or another machine while others are answered."""

    async def end(self) -> None:
        """Leave what was started."""


class Computations:
    """Threads for what requests have computed, apart from those that check passwords and read disks.

    A thread cannot be interrupted, so what it is given has to be bounded. It counts until it is done, even if
    nobody waits for it any more.
    """

    def __init__(
        self, workers: int = WORKERS, waiting: int = MAX_WAITING, seconds: float = MAX_SECONDS
    ) -> None:
        self._threads = ThreadPoolExecutor(workers, "compute-answer")
        self._places, self._seconds = Semaphore(workers + waiting), seconds

    async def run(self, function: Callable[[], T]) -> T:
        """What a function returns; Unavailable when too many wait, or when it takes too long."""
        if not self._places.acquire(blocking=False):
            raise Unavailable("too much is being computed for other requests", hint="retry later")
        work = self._threads.submit(function)
        work.add_done_callback(lambda _: self._places.release())
        timer = asyncio.timeout(self._seconds)
        try:
            async with timer:
                return await asyncio.wrap_future(work)
        except TimeoutError:
            if not timer.expired():
                raise
            raise Unavailable(f"this took more than {self._seconds:g} s", hint="send less at once") from None

    def close(self) -> None:
        """Do nothing that did not begin yet."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class LoopBackground:
    """The running loop and its threads."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._threads = ThreadPoolExecutor(_OWN_WORKERS, "compute")
        self._answers = Computations()

    def later(self, seconds: float, call: Callable[[], None]) -> Handle:
        return asyncio.get_running_loop().call_later(seconds, call)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def compute(self, function: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, function)

    async def compute_answer(self, function: Callable[[], T]) -> T:
        return await self._answers.run(function)

    async def fetch(self, function: Callable[[], T]) -> T:
        return await asyncio.to_thread(function)

    async def end(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._answers.close()
        # What is still computed for a request that ends late has threads of its own.
        self._threads, self._answers = ThreadPoolExecutor(_OWN_WORKERS, "compute"), Computations()
