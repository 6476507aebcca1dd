# SPDX-License-Identifier: Apache-2.0
"""The first bytes of a disk that is being written: what a BIOS starts after a power cut.

Its first sector says all the time that the disk can be started from, and has nothing that could be. A BIOS
that believes it hangs, instead of trying the medium that would install the host anew.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

NEXT_DEVICE: Final = b"\xcd\x18\xf4\xeb\xfd"
"""Has a BIOS try its next device (int 18h), and rests if it does not."""
_LOOK_S: Final = 0.2
_SECTOR: Final = 512
_CLAIM: Final = b"\x55\xaa"
"""At the end of the first sector: a BIOS takes the disk for one that can be started from."""
_ROOM: Final = 440
"""Bytes of code in a boot sector."""


def find_device(root: Path, path: str) -> Path | None:
    """The disk, if a BIOS may come to start it. UEFI needs none of this, and its images have no such code."""
    return None if (root / "sys/firmware/efi").is_dir() else root / path.lstrip("/")


def pass_on(device: Path | None) -> None:
    """Have a BIOS go on to its next device, where this one claims boot code that is not there."""
    with suppress(OSError):
        if device is not None and _is_hollow(device):
            with device.open("r+b", buffering=0) as disk:
                disk.write(NEXT_DEVICE)
                os.fsync(disk.fileno())


def _is_hollow(device: Path) -> bool:
    """Nothing else is touched: a disk that claims nothing may be refused yet, with somebody's data on it."""
    with device.open("rb", buffering=0) as disk:  # Who opens it to write wakes udev each time.
        sector = disk.read(_SECTOR)
    return sector.endswith(_CLAIM) and not any(sector[:_ROOM])


@asynccontextmanager
async def passing_on(device: Path | None) -> AsyncIterator[asyncio.Task[None]]:
    """Keep it so while somebody else writes the disk; cancel the task before the image's own code comes."""

    async def keep() -> None:
        while True:
            await asyncio.to_thread(pass_on, device)
            await asyncio.sleep(_LOOK_S)

    task = asyncio.create_task(keep())
    try:
        yield task
    finally:
        task.cancel()
