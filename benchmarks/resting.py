# SPDX-License-Identifier: Apache-2.0
"""How long a virtual machine does nothing, as seen from outside: to look costs the machine nothing."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType

_LOOK_S = 0.2
_SHARE = 0.2
"""Of one processor: a system that waits still counts its time, and looks around now and then."""
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class Resting:
    """Counts the seconds in which all processors of a lab's machines rest, while the body runs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        """Where the lab is, or will be."""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.seconds = 0.0

    def __enter__(self) -> Resting:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        at, used = time.monotonic(), self._used_s()
        while not self._ended.wait(_LOOK_S):
            then, before = at, used
            at, used = time.monotonic(), self._used_s()
            if used and {*used} == {*before}:
                busy = sum(used.values()) - sum(before.values())
                self.seconds += at - then if busy < _SHARE * (at - then) else 0.0

    def _used_s(self) -> dict[int, float]:
        """Processor time so far of each machine that is on."""
        used = {}
        for file in self._folder.rglob("qemu.pid"):
            with suppress(OSError, ValueError, IndexError):
                pid = int(file.read_text("ascii"))
                fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
                used[pid] = (int(fields[11]) + int(fields[12])) * _TICK_S
        return used
