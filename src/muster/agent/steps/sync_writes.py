# SPDX-License-Identifier: Apache-2.0
"""A program that finds out how long a disk takes to store something for good, and changes nothing on it.

    python3 -m muster.agent.steps.sync_writes /dev/sda 1024 30        1024 writes, but no longer than 30 s

Blocks are read and written back as they are, one by one, each followed by fdatasync, as etcd writes its log.
Whenever it is ended, the disk holds what it held before. A store that leaves out writes which change nothing
looks quicker than it is; disks do not do that.

It is a process of its own: threads of an agent wait for each other, which would be measured as well, and a
thread whose disk hangs could not be ended.
"""

from __future__ import annotations

import errno
import fcntl
import json
import math
import mmap
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

BLOCK_BYTES: Final = 4096
REGIONS: Final = 4
READ_ONLY: Final = "is read-only"
_SECTOR_SIZE: Final = 0x1268
"""BLKSSZGET of linux/fs.h: the least that can be written at once."""
_IS_READ_ONLY: Final = 0x125E
"""BLKROGET: some disks can be opened for writing, and only then refuse it."""
_LOCK_TRIES: Final = 50
_LOCK_PAUSE_S: Final = 0.1


class Unfit(Exception):
    """A disk that is not measured; the text says why, as the end of a sentence that begins with its name."""


def choose_runs(size_bytes: int, block_bytes: int, writes: int) -> tuple[range, ...]:
    """Where is written: neighbouring blocks in the middle of each part of the disk, by their offsets."""
    blocks = size_bytes // block_bytes
    parts = min(REGIONS, blocks)
    if not parts:
        return ()
    share = blocks // parts
    length = min(math.ceil(writes / parts), share)
    firsts = (share * part + (share - length) // 2 for part in range(parts))
    return tuple(range(first * block_bytes, (first + length) * block_bytes, block_bytes) for first in firsts)


def percentile(durations: Sequence[int], share: float) -> int:
    """The duration that this share of all does not exceed."""
    return sorted(durations)[max(0, math.ceil(share * len(durations)) - 1)]


def measure(device: int, runs: Sequence[range], block_bytes: int, limit_s: float) -> list[int]:
    """How many nanoseconds each write took; every run gets its part of the time."""
    durations: list[int] = []
    begun = time.monotonic()
    with mmap.mmap(-1, block_bytes) as block:  # It begins where a page does, as direct access wants it.
        for number, run in enumerate(runs, start=1):
            end = begun + limit_s * number / len(runs)
            for offset in run:
                durations.append(_write_back(device, block, offset))
                if time.monotonic() >= end:
                    break
    return durations


def _write_back(device: int, block: mmap.mmap, offset: int) -> int:
    # What was read last time may never be written here.
    if os.preadv(device, [block], offset) != len(block):
        raise OSError(errno.EIO, "a block could not be read as a whole")
    begun = time.perf_counter_ns()
    written = os.pwrite(device, block, offset)
    os.fdatasync(device)
    took = time.perf_counter_ns() - begun
    if written != len(block):
        raise OSError(errno.EIO, "a block could not be written as a whole")
    return took


@contextmanager
def open_alone(path: str, sleep: Callable[[float], None] = time.sleep) -> Iterator[int]:
    """Open a disk that nobody else uses, past all caches of this machine."""
    try:
        if not stat.S_ISBLK(os.stat(path).st_mode):  # noqa: PTH116
            raise Unfit("is not a disk")
        device = os.open(path, os.O_RDWR | os.O_DIRECT | os.O_EXCL | os.O_CLOEXEC)
    except OSError as error:
        raise Unfit(explain(error)) from error
    try:
        if _ask(device, _IS_READ_ONLY):
            raise Unfit(READ_ONLY)
        _lock(device, sleep)
        yield device
    finally:
        os.close(device)


def _ask(device: int, question: int) -> int:
    return int.from_bytes(fcntl.ioctl(device, question, bytes(4)), sys.byteorder)


def explain(error: OSError) -> str:
    """Why a disk cannot be opened."""
    match error.errno:
        case errno.EBUSY:
            return "is in use: something on it is mounted, or belongs to a volume or an array"
        case errno.EROFS:
            return READ_ONLY
        case errno.EACCES:  # Said of disks that are read-only, too.
            return f"{READ_ONLY}, or may not be written to"
        case errno.ENOENT | errno.ENOTDIR | errno.ENXIO | errno.ENODEV | errno.ENOMEDIUM:
            return "is not there"
        case _:
            return f"cannot be opened: {(error.strerror or str(error)).lower()}"


def _lock(device: int, sleep: Callable[[float], None]) -> None:
    """As systemd asks of whoever writes to disks: udev does not look at them meanwhile."""
    for _ in range(_LOCK_TRIES):
        try:
            fcntl.flock(device, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sleep(_LOCK_PAUSE_S)
        else:
            return
    raise Unfit("is in use: somebody has locked it")


def examine(path: str, writes: int, limit_s: float) -> dict[str, int | str]:
    """What is found out about a disk: ``p99_ns`` and ``writes``, or ``trouble``."""
    try:
        with open_alone(path) as device:
            block = max(BLOCK_BYTES, _ask(device, _SECTOR_SIZE))
            runs = choose_runs(os.lseek(device, 0, os.SEEK_END), block, writes)
            durations = measure(device, runs, block, limit_s)
    except Unfit as error:
        return {"trouble": str(error)}
    except OSError as error:
        return {"trouble": f"failed while it was measured: {(error.strerror or str(error)).lower()}"}
    if not durations:
        return {"trouble": "has no room for a single block"}
    return {"p99_ns": percentile(durations, 0.99), "writes": len(durations)}


def main(argv: Sequence[str]) -> None:
    path, writes, limit_s = argv
    sys.stdout.write(json.dumps(examine(path, int(writes), float(limit_s))) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
