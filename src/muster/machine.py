# SPDX-License-Identifier: Apache-2.0
"""The machine that something runs on: the only way by which agent and installer touch the world."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from muster.frozen import dataclass
from muster.run import Argument, Said, ask


class Machine(Protocol):
    """A machine; in tests a folder and some answers that were recorded."""

    @property
    def root(self) -> Path:
        """Where its file system begins: /sys, /proc, /run and /dev are looked for below it."""

    async def ask(self, argv: Sequence[Argument], *, deadline_s: float, feed: str = "") -> Said:
        """Ask a program something. It never raises because the program fails, is late or is not there."""


@dataclass(frozen=True)
class ThisMachine:
    """The machine that this process runs on."""

    root: Path = Path("/")

    async def ask(self, argv: Sequence[Argument], *, deadline_s: float, feed: str = "") -> Said:
        return await ask(argv, deadline_s=deadline_s, feed=feed)
