# SPDX-License-Identifier: Apache-2.0
"""Free space of the file system with the database: below a floor, nothing that hosts report is written.

What is left then is for what people do, and for the end of installations that run.
"""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from muster.serving.quiet_log import QuietLog

SPARE_BYTES: Final = 256 << 20
SPARE_SHARE: Final = 0.05
"""Of a small file system this share is left."""
_LOOK_S: Final = 2.0
_log: Final = logging.getLogger("muster.service")


def _disk(folder: Path) -> tuple[int, int]:
    """Size and free space of a file system."""
    found = shutil.disk_usage(folder)
    return found.total, found.free


class FreeSpace:
    """Looks at the free space of a folder, but not for every request."""

    def __init__(
        self,
        folder: Path,
        clock: Callable[[], float] = time.monotonic,
        disk: Callable[[Path], tuple[int, int]] = _disk,
    ) -> None:
        self._folder, self._clock, self._disk = folder, clock, disk
        self._looked_at = float("-inf")
        self._left = float("inf")
        """In floors."""
        self._quiet = QuietLog(_log, clock)

    def is_below(self, floor: float = 1.0) -> bool:
        """Whether less than the floor is free, or less than a part of it."""
        now = self._clock()
        if now - self._looked_at >= _LOOK_S:
            self._looked_at = now
            try:
                size, free = self._disk(self._folder)
            except OSError:  # Nothing is known of it; what cannot be written says so itself.
                self._left = float("inf")
                return False
            self._left = free / max(1, min(SPARE_BYTES, int(size * SPARE_SHARE)))
            if self._left < 1.0:
                self._quiet.note("", "%s: %d MiB are free: hosts may not report", self._folder, free >> 20)
        return self._left < floor
