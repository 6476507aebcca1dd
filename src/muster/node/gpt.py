# SPDX-License-Identifier: Apache-2.0
"""The partition table (GPT) of a disk or an image, read without the help of the kernel or udev."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Final
from uuid import UUID

from muster.errors import ExternalError
from muster.frozen import dataclass

ReadAt = Callable[[int, int], bytes]
"""Some bytes at an offset: (size, offset); fewer at the end."""
EFI_SYSTEM: Final = "c12a7328-f81f-11d2-ba4b-00a0c93ec93b"
_SECTORS: Final = (512, 4096)
_HEADER: Final = struct.Struct("<8sIIIIQQQQ16sQIII")
_ENTRY: Final = struct.Struct("<16s16sQQQ72s")
_MOST_ENTRIES: Final = 1024
_BIGGEST_ENTRY: Final = 4096


@dataclass(frozen=True)
class Partition:
    """A partition, in bytes."""

    number: int
    name: str
    kind: str
    """Its type as a UUID."""
    start: int
    size: int


def read_table(read_at: ReadAt, what: str) -> tuple[Partition, ...]:
    """The partitions of a table that is whole; ``what`` names the disk in errors."""
    for sector in _SECTORS:
        data = read_at(sector, sector)
        if data[:8] == b"EFI PART" and len(data) == sector:
            return tuple(_entries(read_at, data, sector, what))
    raise _damaged(what, "it has none")


def _entries(read_at: ReadAt, header: bytes, sector: int, what: str) -> Iterator[Partition]:
    (_, _, length, checksum, *_, entries_at, count, entry_size, entries_checksum) = _HEADER.unpack_from(
        header
    )
    if not _HEADER.size <= length <= sector:
        raise _damaged(what, "its header has no sensible size")
    if zlib.crc32(header[:16] + bytes(4) + header[20:length]) != checksum:
        raise _damaged(what, "the checksum of its header is wrong")
    if count > _MOST_ENTRIES or not _ENTRY.size <= entry_size <= _BIGGEST_ENTRY:
        raise _damaged(what, "its entries have no sensible size")
    data = read_at(count * entry_size, entries_at * sector)
    if zlib.crc32(data) != entries_checksum:
        raise _damaged(what, "the checksum of its entries is wrong")
    for index in range(count):
        kind, _, first, last, _, name = _ENTRY.unpack_from(data, index * entry_size)
        if any(kind):
            yield Partition(
                number=index + 1,
                name=name.decode("utf-16-le", errors="replace").rstrip("\0"),
                kind=str(UUID(bytes_le=kind)),
                start=first * sector,
                size=(last - first + 1) * sector,
            )


def _damaged(what: str, why: str) -> ExternalError:
    return ExternalError(f"the partition table of {what} is damaged: {why}", hint=f"write {what} again")
