# SPDX-License-Identifier: Apache-2.0
"""What is read back comes from the disk itself; and what is said when that is not what was written."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from muster.errors import ExternalError


class Spoiled(ExternalError):
    """What is on a disk is not what was put there; that is gone, and may be brought again."""

    def __init__(self, detail: str) -> None:
        super().__init__(
            f"the disk does not hold what was written to it: {detail}",
            hint="check the disk, its cable and the memory; replace what is broken, then install again",
        )


def let_go(path: Path) -> None:
    """What is read of a file next comes from the disk, not from memory."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)
