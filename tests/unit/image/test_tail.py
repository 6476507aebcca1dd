# SPDX-License-Identifier: Apache-2.0
"""Partitions behind the volume, and the catalogue that names their boot images."""

from __future__ import annotations

import struct

import pytest

from muster.image.iso.records import SECTOR
from muster.image.iso.tail import Tail, find_tail, move_tail
from muster.image.overlay import Pread
from tests.media import replaced

VOLUME, APPENDED, GAP = (32768, 204800), (204800, 208896), (208896, 210000)


@pytest.mark.parametrize(
    ("ranges", "tail"),
    [
        ([VOLUME, APPENDED, GAP], Tail(204800, 210000, 212992)),
        ([GAP, APPENDED, VOLUME], Tail(204800, 210000, 212992)),
        ([VOLUME], None),
        ([(0, 204800), (40960, 45056)], None),
        ([(32768, 204288), (204288, 208896)], None),
        ([], None),
    ],
    ids=["appended", "unordered", "volume alone", "within the volume", "not at a sector", "none"],
)
def test_what_follows_the_volume(ranges: list[tuple[int, int]], tail: Tail | None) -> None:
    assert find_tail(ranges, 212000) == tail


def image(*entries: bytes) -> bytes:
    """A boot record in sector 17 that names a catalogue in sector 20, and something in every other sector."""
    data = b"".join(bytes([number]) * SECTOR for number in range(64))
    record = b"\0CD001\x01EL TORITO SPECIFICATION".ljust(71, b"\0") + struct.pack("<I", 20)
    data = replaced(data, 17 * SECTOR, record.ljust(SECTOR, b"\0"))
    return replaced(data, 20 * SECTOR, b"".join((b"\x01".ljust(32, b"\0"), *entries)).ljust(SECTOR, b"\0"))


def reader(data: bytes) -> Pread:
    return lambda offset, length: data[offset : offset + length]


def boot_image(sector: int) -> bytes:
    return struct.pack("<B7xI20x", 0x88, sector)


def header(kind: int, count: int) -> bytes:
    return struct.pack("<BBH28x", kind, 0xEF, count)


def test_the_catalogue_follows() -> None:
    extension = b"\x44".ljust(32, b"\0")
    data = image(
        boot_image(22),
        header(0x90, 1),
        boot_image(40),
        extension,
        header(0x91, 2),
        boot_image(41),
        boot_image(9),
    )
    patches = list(move_tail(reader(data), Tail(40 * SECTOR, 44 * SECTOR, 70 * SECTOR)))
    assert patches[0].offset == 70 * SECTOR
    assert patches[0].data == data[40 * SECTOR : 44 * SECTOR]
    moved = {(patch.offset - 20 * SECTOR) // 32: struct.unpack("<I", patch.data)[0] for patch in patches[1:]}
    assert moved == {3: 70, 6: 71}


def test_an_image_without_a_catalogue_has_none_that_follows() -> None:
    data = bytes(64 * SECTOR)
    assert len(list(move_tail(reader(data), Tail(40 * SECTOR, 44 * SECTOR, 70 * SECTOR)))) == 1
