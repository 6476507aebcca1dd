# SPDX-License-Identifier: Apache-2.0
"""The first bytes of a disk that is being written: what a BIOS starts after a power cut.

Its first sector says all the time that the disk can be started from, and has nothing that could be. A BIOS
that believes it hangs, instead of trying the medium that would install the host anew.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

NEXT_DEVICE: Final = b"\xcd\x18\xf4\xeb\xfd"
"""Has a BIOS try its next device (int 18h), and rests if it does not."""
_ROOM: Final = 440
"""Bytes of code in a boot sector."""


def pass_on(device: Path) -> None:
    """Have a BIOS go on to its next device, as long as there is no boot code on this one."""
    with suppress(OSError), device.open("r+b", buffering=0) as disk:
        if not any(disk.read(_ROOM)):
            disk.seek(0)
            disk.write(NEXT_DEVICE)
            os.fsync(disk.fileno())
