# SPDX-License-Identifier: Apache-2.0
"""Work that would hold up the event loop, hashing and disks above all: done in threads, never left alone."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from typing import Final, ParamSpec, TypeVar

from muster.errors import MusterError
from muster.progress import Advance

PIECE: Final = 1 << 20
"""As much as goes to a thread at once: less is not worth the way."""
_P = ParamSpec("_P")
_T = TypeVar("_T")


async def off_loop(function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Call a function in a thread. Who is cancelled still waits for its end, as it works on open files."""
    work = asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await _ended(work)
        raise


async def drain(
    chunks: AsyncGenerator[bytes, None], write: Callable[[bytes], None], advance: Advance
) -> None:
    """Write a stream in a thread, in large pieces, while more of it comes.

    However it ends, what came was written, unless that is what failed.
    """
    waiting: list[bytes] = []
    size = 0
    writing: asyncio.Future[None] | None = None
    try:
        async with contextlib.aclosing(chunks):
            async for chunk in chunks:
                waiting.append(chunk)
                size += len(chunk)
                advance(len(chunk))
                if size >= PIECE:
                    await _settled(writing)
                    piece, waiting, size = b"".join(waiting), [], 0
                    writing = asyncio.ensure_future(asyncio.to_thread(write, piece))
        await _settled(writing)
    except BaseException:
        if await _ended(writing):
            with contextlib.suppress(MusterError):
                write(b"".join(waiting))
        raise
    await off_loop(write, b"".join(waiting))


async def all_of(works: Iterable[Awaitable[None]]) -> None:
    """Do several things at once. When one fails, the others are stopped, and its error is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            for work in works:
                group.create_task(_awaited(work))
    except BaseExceptionGroup as failed:
        raise _first(failed) from None


async def _awaited(work: Awaitable[None]) -> None:
    await work


def _first(failed: BaseExceptionGroup[BaseException]) -> BaseException:
    first = failed.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first


async def _settled(work: asyncio.Future[None] | None) -> None:
    if work is not None:
        await asyncio.shield(work)


async def _ended(work: asyncio.Future[_T] | None) -> bool:
    """Wait for the end of some work; whether it was a good one."""
    if work is None:
        return True
    await asyncio.wait([work])
    return not work.cancelled() and work.exception() is None
