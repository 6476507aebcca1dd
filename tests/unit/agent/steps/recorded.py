# SPDX-License-Identifier: Apache-2.0
"""A machine of answers that were recorded, and a wire without a network."""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from muster.agent.steps.wire import Link
from muster.run import MISSING, Argument, Said

T = TypeVar("T")
_LOOP = asyncio.new_event_loop()
"""Made before tests may not open sockets any more."""
atexit.register(_LOOP.close)


def finish(work: Coroutine[Any, Any, T]) -> T:
    """What comes of something that waits for nothing from outside."""
    return _LOOP.run_until_complete(work)


def good(out: str = "") -> Said:
    return Said(0, out, "")


class Recorded:
    """Answers by the beginning of a command line; the longest one that fits counts."""

    def __init__(self, answers: Mapping[str, Said | Sequence[Said]], root: Path = Path("/nowhere")) -> None:
        self._answers = {
            start: [each] if isinstance(each, Said) else list(each) for start, each in answers.items()
        }
        self.root = root
        self.asked: list[str] = []
        self.at_once = self.most_at_once = 0

    async def ask(self, argv: Sequence[Argument], *, deadline_s: float, feed: str = "") -> Said:
        assert deadline_s > 0
        line = " ".join(map(str, argv))
        self.asked.append(line)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0)
        self.at_once -= 1
        fitting = [start for start in self._answers if line.startswith(start)]
        if not fitting:
            return Said(MISSING, "", f"the program {argv[0]} is not there")
        answer = self._answers[max(fitting, key=len)]
        return answer.pop(0) if len(answer) > 1 else answer[0]


class Cable:
    """A wire; what comes back on it is made of what was sent."""

    def __init__(self, answer: Callable[[bytes], Sequence[bytes]]) -> None:
        self._answer = answer
        self._heard: asyncio.Queue[bytes] = asyncio.Queue()
        self.sent: list[bytes] = []
        self.opened: list[tuple[str, int]] = []

    @contextmanager
    def open(self, nic: str, protocol: int) -> Iterator[Link]:
        self.opened.append((nic, protocol))
        yield self

    async def send(self, frame: bytes) -> None:
        self.sent.append(frame)
        for each in self._answer(frame):
            self._heard.put_nowait(each)
        await asyncio.sleep(0)

    async def receive(self) -> bytes:
        return await self._heard.get()


class Cut:
    """A wire that cannot be opened."""

    @contextmanager
    def open(self, nic: str, protocol: int) -> Iterator[Link]:
        raise PermissionError(1, "Operation not permitted")
        yield  # type: ignore[unreachable]
