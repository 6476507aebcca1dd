# SPDX-License-Identifier: Apache-2.0
"""Long work beside other work: in a thread, and ended when nobody waits for it any more."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shlex
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Protocol, TypeVar

from muster.errors import ExternalError
from muster.run import Argument, Circumstances, find_program, run

T = TypeVar("T")
Heard = Callable[[str], None]
_PATIENCE_S: Final = 5.0
_SAY_NUMBER: Final = 'echo "$$" && exec "$0" "$@"'
"""The number of the process is the first that is heard, so that it can be ended while it says nothing."""


class Follow(Protocol):
    """Something that runs a program and tells what it says: `follow` below, or what stands in for it."""

    async def __call__(self, argv: Sequence[Argument], heard: Heard, deadline_s: float) -> None: ...


async def follow(argv: Sequence[Argument], heard: Heard, deadline_s: float) -> None:
    """Run a program to its end; ``heard`` is told every line, in the loop of who asks. Cancelling ends it."""
    words = [os.fspath(each) for each in argv]
    if find_program(words[0]) is None:
        raise ExternalError(f"the program {words[0]} is not there", hint=f"install {words[0]}")
    loop = asyncio.get_running_loop()

    def pass_on(line: str) -> None:
        loop.call_soon_threadsafe(heard, line)

    program = _Program(pass_on)

    wrapped = ["sh", "-c", _SAY_NUMBER, *words]

    def work() -> None:
        run(wrapped, heard=program.hear, circumstances=Circumstances(deadline_s=deadline_s))

    try:
        await in_thread(work, program.end)
    except ExternalError as error:
        raise _unwrapped(error, wrapped, program.number) from error


class _Stopped(Exception):
    """Nobody waits for the program any more."""


class _Program:
    """A program that says its number first."""

    def __init__(self, heard: Heard) -> None:
        self._heard = heard
        self.number = 0
        self._unwanted = False

    def hear(self, line: str) -> None:
        """In the thread that the program is run in."""
        if self._unwanted:
            raise _Stopped
        if not self.number:
            self.number = int(line)
        else:
            self._heard(line)

    def end(self, number: signal.Signals) -> None:
        """Ask it and its children to end, or make them."""
        self._unwanted = True
        if self.number:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.number, number)


async def in_thread(work: Callable[[], T], end: Callable[[signal.Signals], None]) -> T:
    """Work in a thread. When that is cancelled, it is asked to end, then made to, and waited for."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        for number in (signal.SIGTERM, signal.SIGKILL):
            end(number)
            await _over(task)
        if task.done() and not task.cancelled():
            task.exception()  # Nobody is interested in how it ended.
        raise


async def _over(task: asyncio.Future[T]) -> None:
    """Wait a moment until it is over, even if we are told once more that nobody waits."""
    until = asyncio.get_running_loop().time() + _PATIENCE_S
    while not task.done() and (left := until - asyncio.get_running_loop().time()) > 0:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait({task}, timeout=left)


def _unwrapped(error: ExternalError, wrapped: Sequence[str], number: int) -> ExternalError:
    """The shell only told us the number: what failed is the program."""
    words = wrapped[3:]
    lines = [line for line in error.message.split("\n") if line != f"    {number}"]
    first = re.sub(r"^sh (?=failed|ended)", f"{Path(words[0]).name} ", lines[0])
    if len(lines) == 1:
        first = first.removesuffix("; it said last:")
    first = first.replace(shlex.join(wrapped), shlex.join(words))
    hint = error.hint.replace(shlex.join(wrapped), shlex.join(words))
    return ExternalError("\n".join((first, *lines[1:])), hint=hint)
