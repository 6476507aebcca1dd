# SPDX-License-Identifier: Apache-2.0
"""Runs work that is asynchronous. Ctrl-C cancels it, so that what is under way is put down, not dropped."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from muster.errors import Interrupted

_T = TypeVar("_T")
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


def run_async(work: Callable[[], Awaitable[_T]]) -> _T:
    """Do some work to its end; when somebody wants us to stop, it is cancelled, and Interrupted is raised."""
    # An exception out of a signal handler could end in any task, and be taken for that task's own trouble.
    with _handlers_kept():
        try:
            return asyncio.run(_cancellable(work))
        except asyncio.CancelledError:
            raise Interrupted from None


async def _cancellable(work: Callable[[], Awaitable[_T]]) -> _T:
    task = asyncio.current_task()
    assert task is not None
    for number in _SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    return await work()


@contextmanager
def _handlers_kept() -> Iterator[None]:
    """A loop that ends leaves the system's own handlers behind, and not those that were there before."""
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
