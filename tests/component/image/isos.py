# SPDX-License-Identifier: Apache-2.0
"""Files that pass for an ISO at first sight."""

from __future__ import annotations

import random

BLOCK = 2048


def small_iso(size_bytes: int = 600_000, seed: int = 1) -> bytes:
    """A volume descriptor among noise that does not compress."""
    size_bytes -= size_bytes % BLOCK
    image = bytearray(random.Random(seed).randbytes(size_bytes))
    image[:16] = b"\x45\x52\x08" + bytes(13)
    descriptor = bytearray(BLOCK)
    descriptor[:6] = b"\x01CD001"
    descriptor[80:84] = (size_bytes // BLOCK).to_bytes(4, "little")
    descriptor[128:130] = BLOCK.to_bytes(2, "little")
    image[16 * BLOCK : 17 * BLOCK] = descriptor
    return bytes(image)
