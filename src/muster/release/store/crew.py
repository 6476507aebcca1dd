# SPDX-License-Identifier: Apache-2.0
"""Several threads that share out long work: hashing, reading and writing let other threads run meanwhile."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from threading import Event
from typing import TypeAlias, TypeVar

T = TypeVar("T")
Halted: TypeAlias = Callable[[], bool]
"""Whether the work is over because some of it failed, or the user pressed Ctrl-C; asked now and then."""


def count_processors() -> int:
    """How many of them this process may use."""
    return len(os.sched_getaffinity(0))


def share_out(work: Iterable[T], do: Callable[[T, Halted], None], threads: int) -> None:
    """Do every piece of work; the first that fails ends all of it, and its error is raised."""
    halt = Event()
    with ThreadPoolExecutor(max(1, threads)) as pool:
        try:
            waiting = [pool.submit(do, piece, halt.is_set) for piece in work]
            for done in as_completed(waiting):
                done.result()
        except BaseException:
            halt.set()
            pool.shutdown(cancel_futures=True)
            raise
