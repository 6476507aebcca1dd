# SPDX-License-Identifier: Apache-2.0
"""What stands behind the volume of an image: partitions that were appended to it, such as one for UEFI.

When the volume grows, they move behind its new end, and what boots from them is told.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from muster.frozen import dataclass
from muster.image.iso.records import SECTOR
from muster.image.iso.volume import DESCRIPTORS_AT
from muster.image.overlay import Patch, Pread

_BOOT_RECORD = b"\0CD001\x01EL TORITO SPECIFICATION"
_CATALOGUE_AT = 71
_ENTRY = 32
_HEADERS, _EXTENSION = (0x90, 0x91), 0x44


@dataclass(frozen=True)
class Tail:
    """A range of the image, in bytes, and where it goes."""

    start: int
    end: int
    target: int

    @property
    def shift(self) -> int:
        return self.target - self.start

    @property
    def length(self) -> int:
        return self.end - self.start


def find_tail(ranges: Iterable[tuple[int, int]], target: int) -> Tail | None:
    """What follows the partition that holds the volume, if it lies at full sectors.

    ``ranges`` are partitions, in bytes; ``target`` is where the volume will end.
    """
    known = sorted(ranges)
    holders = [end for start, end in known if start <= DESCRIPTORS_AT < end]
    behind = [(start, end) for start, end in known if holders and start >= max(holders)]
    if not behind or max(holders) % SECTOR:
        return None
    return Tail(max(holders), max(end for _, end in behind), -(-target // SECTOR) * SECTOR)


def move_tail(read: Pread, tail: Tail) -> Iterator[Patch]:
    """The bytes at their new place, and the boot catalogue that points there."""
    yield Patch(tail.target, read(tail.start, tail.length), "the partitions behind the volume")
    for at, place in _boot_images(read):
        if tail.start <= place < tail.end:
            yield Patch(at, struct.pack("<I", (place + tail.shift) // SECTOR), "the boot catalogue")


def _boot_images(read: Pread) -> Iterator[tuple[int, int]]:
    """Where the catalogue says where a boot image is, and where that is."""
    record = read(DESCRIPTORS_AT + SECTOR, SECTOR)
    if not record.startswith(_BOOT_RECORD):
        return
    start = struct.unpack_from("<I", record, _CATALOGUE_AT)[0] * SECTOR
    catalogue = read(start, SECTOR)
    # The first entry proves that it is a catalogue. Then an image, and headers, each with a number of images.
    left = 1
    for at in range(_ENTRY, len(catalogue) - _ENTRY + 1, _ENTRY):
        kind = catalogue[at]
        if left and kind != _EXTENSION:
            left -= 1
            yield start + at + 8, struct.unpack_from("<I", catalogue, at + 8)[0] * SECTOR
        elif kind in _HEADERS:
            left = struct.unpack_from("<H", catalogue, at + 2)[0]
        elif kind != _EXTENSION:
            return
