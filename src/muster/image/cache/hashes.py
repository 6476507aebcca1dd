# SPDX-License-Identifier: Apache-2.0
"""Hashing files, and telling by a look at a file whether it is still the one that was hashed."""

from __future__ import annotations

import hashlib
import os
import stat
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from muster.errors import ExternalError, UserError, cannot
from muster.frozen import dataclass
from muster.progress import Progress

CHUNK_BYTES: Final = 1 << 20
_RACY: Final = timedelta(seconds=2)
"""The coarsest clock of a file system in use; a change within one tick leaves no trace."""


@dataclass(frozen=True)
class Hashed:
    """A file's content, and how the file looked while it was read."""

    sha256: str
    size_bytes: int
    fingerprint: str


def fingerprint(status: os.stat_result) -> str:
    """How a file looks from outside: whoever writes to it changes this.

    The time of the last change (ctime) cannot be set by hand as that of the last write can.
    """
    return f"{status.st_size}-{status.st_mtime_ns}-{status.st_ino}-{status.st_ctime_ns}"


def stat_file(path: Path) -> os.stat_result:
    """The status of a regular file."""
    try:
        status = path.stat()
    except FileNotFoundError as error:
        raise UserError(f"{path} does not exist", hint="check the path of the base image") from error
    except OSError as error:
        raise cannot("read", path, error) from error
    if not stat.S_ISREG(status.st_mode):
        what = "a directory" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise UserError(f"{path} is {what}", hint="name the image file itself")
    if status.st_size == 0:
        raise UserError(f"{path} is empty", hint="get the image again; the download may have failed")
    return status


def is_racy(status: os.stat_result, now: datetime) -> bool:
    """Whether a file changed so lately that it could change again and look the same."""
    return now.timestamp() - status.st_ctime < _RACY.total_seconds()


def hash_file(path: Path, progress: Progress, label: str) -> Hashed:
    """Read all of a file; it may not change meanwhile."""
    digest = hashlib.sha256()
    buffer = bytearray(CHUNK_BYTES)
    view = memoryview(buffer)
    try:
        with path.open("rb", buffering=0) as file:
            before = os.fstat(file.fileno())
            with progress.bar(label, total=before.st_size) as advance:
                while count := file.readinto(buffer):
                    digest.update(view[:count])
                    advance(count)
            after = os.fstat(file.fileno())
    except OSError as error:
        raise cannot("read", path, error) from error
    if fingerprint(before) != fingerprint(after):
        raise ExternalError(
            f"{path} changed while it was read", hint="wait until it is complete, then run the command again"
        )
    return Hashed(digest.hexdigest(), after.st_size, fingerprint(after))
