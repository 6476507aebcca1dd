# SPDX-License-Identifier: Apache-2.0
"""The partition tables of an ISO that boots from a stick, too, when the image grows at its end.

Partitions that reach the end of the image, in the MBR and in the GPT, reach the new end afterwards, and
the second GPT moves there, as if isohybrid or xorriso had made the larger image.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from muster.errors import MediaError
from muster.frozen import dataclass
from muster.image.iso.records import DAMAGED, SECTOR
from muster.image.iso.tail import Tail, find_tail, move_tail
from muster.image.iso.volume import DESCRIPTORS_AT, Volume
from muster.image.overlay import Patch

TABLE_NAME = "the partition table"

_BLOCK = 512
_MBR_ENTRIES_AT = 446
_GPT_HEADER = struct.Struct("<8s4sII4xQQQQ16sQIII")
_MAX_ENTRIES_BYTES = 1 << 20
_LAST_CYLINDER = 1023
_Geometry: TypeAlias = tuple[int, int]
_GEOMETRIES = ((64, 32), (128, 32), (255, 63))


@dataclass(frozen=True)
class Partition:
    """A partition, in blocks of 512 bytes, and where its table entry stands."""

    start: int
    end: int
    entry: int


@dataclass(frozen=True)
class Growth:
    """The new sizes of the file and of the volume in it, and the tables that go with them."""

    size: int
    volume_bytes: int
    patches: tuple[Patch, ...]


@dataclass(frozen=True)
class _Gpt:
    header: tuple[bytes, bytes, int, int, int, int, int, int, bytes, int, int, int, int]
    entries: bytes

    @property
    def alternate(self) -> int:
        return self.header[5]

    @property
    def entries_at(self) -> int:
        return self.header[9]

    @property
    def entry_size(self) -> int:
        return self.header[11]

    @property
    def blocks(self) -> int:
        """How many blocks the second table takes, its header included."""
        return -(-len(self.entries) // _BLOCK) + 1

    def partitions(self) -> Iterator[Partition]:
        for position in range(0, len(self.entries), self.entry_size):
            first, last = struct.unpack_from("<QQ", self.entries, position + 32)
            if self.entries[position : position + 16].strip(b"\0"):
                yield Partition(first, last + 1, position)


def partition_starts(volume: Volume) -> set[int]:
    """The bytes at which partitions start."""
    gpt = _find_gpt(volume)
    partitions = [*_mbr_partitions(volume.read(0, _BLOCK)), *(gpt.partitions() if gpt else ())]
    return {partition.start * _BLOCK for partition in partitions}


def grow_tables(volume: Volume, content_end: int) -> Growth:
    """Let the image end behind `content_end` instead of where it ends now."""
    mbr, gpt = volume.read(0, _BLOCK), _find_gpt(volume)
    tail = _find_tail(gpt, content_end) if gpt else None
    needed = tail.target + tail.length if tail else content_end
    needed += gpt.blocks * _BLOCK if gpt else 0
    old = _find_cylinder(mbr, volume.file_size)
    new = _widen(old, volume.file_size, needed) if old else None
    size = _align(needed, new[0] * new[1] * _BLOCK if new else SECTOR)
    volume_bytes = size if volume.size_bytes == volume.file_size else content_end
    moved = {
        volume.size_bytes // _BLOCK: volume_bytes // _BLOCK,
        volume.file_size // _BLOCK: size // _BLOCK,
    }
    if gpt:
        moved.setdefault(gpt.alternate + 1, size // _BLOCK)
        moved.setdefault(_usable_end(gpt, gpt.alternate), _usable_end(gpt, size // _BLOCK - 1))
    if tail:
        moved[tail.start // _BLOCK] = tail.target // _BLOCK
    tables = [*_grow_mbr(volume, mbr, moved, {old: new} if old and new else {})]
    if gpt:
        tables += _grow_gpt(volume, gpt, moved, size, tail)
    if tail:
        tables += move_tail(volume.read, tail)
    return Growth(size, volume_bytes, tuple(tables))


def _find_tail(gpt: _Gpt, content_end: int) -> Tail | None:
    ranges = ((each.start * _BLOCK, each.end * _BLOCK) for each in gpt.partitions())
    return find_tail(ranges, content_end)


def _usable_end(gpt: _Gpt, last_block: int) -> int:
    """Where xorriso ends partitions: before the second table, at a full sector."""
    return (last_block + 1 - gpt.blocks) * _BLOCK // SECTOR * (SECTOR // _BLOCK)


def _new_end(volume: Volume, partition: Partition, moved: Mapping[int, int]) -> int | None:
    """Where a partition has to end; None if it may stay as it is."""
    new_end = moved.get(partition.end)
    holds_volume = partition.start * _BLOCK <= DESCRIPTORS_AT < partition.end * _BLOCK
    if new_end is None and holds_volume:
        raise MediaError(
            f"{volume.name} cannot grow: its partition ends at byte {partition.end * _BLOCK},"
            f" the image at {volume.file_size}",
            hint="use less data, so that it fits into the image as it is",
        )
    return new_end


def _mbr_partitions(mbr: bytes) -> Iterator[Partition]:
    if mbr[510:512] != b"\x55\xaa":
        return
    for entry in range(_MBR_ENTRIES_AT, 510, 16):
        start, count = struct.unpack_from("<II", mbr, entry + 8)
        if count:
            yield Partition(start, start + count, entry)


def _grow_mbr(
    volume: Volume, mbr: bytes, moved: Mapping[int, int], widened: Mapping[_Geometry, _Geometry]
) -> Iterator[Patch]:
    for partition in _mbr_partitions(mbr):
        end = _new_end(volume, partition, moved)
        if end is None:
            continue
        entry = partition.entry
        count = min(end - partition.start, 0xFFFFFFFF)
        yield Patch(entry + 12, struct.pack("<I", count), TABLE_NAME)
        for geometry in (_geometry(mbr, entry), *_GEOMETRIES):
            if mbr[entry + 5 : entry + 8] == _end_address(partition.end, *geometry):
                yield Patch(entry + 5, _end_address(end, *widened.get(geometry, geometry)), TABLE_NAME)
                break


def _geometry(mbr: bytes, entry: int) -> _Geometry:
    """Heads and sectors, as the address of the last block of a cylinder-aligned partition tells them."""
    return mbr[entry + 5] + 1, mbr[entry + 6] & 0x3F


def _end_address(end: int, heads: int, sectors: int) -> bytes:
    """The last block of a partition as head, sector and cylinder; b"" if there is no such geometry."""
    if not sectors:
        return b""
    cylinder, rest = divmod(end - 1, heads * sectors)
    if cylinder > _LAST_CYLINDER:
        cylinder, rest = _LAST_CYLINDER, heads * sectors - 1
    head, sector = divmod(rest, sectors)
    return bytes([head, (sector + 1) | cylinder >> 2 & 0xC0, cylinder & 0xFF])


def _find_cylinder(mbr: bytes, file_size: int) -> _Geometry | None:
    """The geometry to whose cylinders the image was rounded, if it was."""
    for partition in _mbr_partitions(mbr):
        heads, sectors = _geometry(mbr, partition.entry)
        size = heads * sectors * _BLOCK
        if size and partition.end * _BLOCK == file_size and file_size % size == 0 and size % SECTOR == 0:
            return heads, sectors
    return None


def _widen(geometry: _Geometry, old_size: int, needed: int) -> _Geometry:
    """More heads, as xorriso takes them, when 1024 cylinders were enough and no longer are."""
    heads, sectors = geometry
    most = (_LAST_CYLINDER + 1) * sectors * _BLOCK
    if old_size <= most * heads < needed:
        wider = (count for count in range(heads, 256) if count * sectors * _BLOCK % SECTOR == 0)
        heads = next((count for count in wider if needed <= most * count), heads)
    return heads, sectors


def _find_gpt(volume: Volume) -> _Gpt | None:
    block = volume.read(_BLOCK, _BLOCK)
    header = _GPT_HEADER.unpack_from(block)
    magic, _, header_size, checksum, current, *_ = header
    if magic != b"EFI PART":
        return None
    _, _, _, _, _, alternate, _, _, _, entries_at, count, entry_size, entries_checksum = header
    if header_size != _GPT_HEADER.size or current != 1 or checksum != _checksum(block[: _GPT_HEADER.size]):
        raise MediaError(f"the GPT of {volume.name} has a broken header", hint=DAMAGED)
    length = count * entry_size
    if entry_size < 128 or not 0 < length <= _MAX_ENTRIES_BYTES or alternate >= 1 << 48:
        raise MediaError(f"the GPT of {volume.name} has {count} entries of {entry_size} bytes", hint=DAMAGED)
    entries = volume.read(entries_at * _BLOCK, length)
    if zlib.crc32(entries) != entries_checksum:
        raise MediaError(f"the GPT of {volume.name} has broken entries", hint=DAMAGED)
    return _Gpt(header, entries)


def _grow_gpt(
    volume: Volume, gpt: _Gpt, moved: Mapping[int, int], size: int, tail: Tail | None
) -> Iterator[Patch]:
    entries = bytearray(gpt.entries)
    for partition in gpt.partitions():
        shift = tail.shift // _BLOCK if tail and partition.start * _BLOCK >= tail.start else 0
        end = _new_end(volume, partition, moved) or partition.end + shift
        if (shift, end) != (0, partition.end):
            struct.pack_into("<QQ", entries, partition.entry + 32, partition.start + shift, end - 1)
            at = gpt.entries_at * _BLOCK + partition.entry + 32
            yield Patch(at, bytes(entries[partition.entry + 32 : partition.entry + 48]), TABLE_NAME)
    last = size // _BLOCK - 1
    second_at = last + 1 - gpt.blocks
    first = _render_header(gpt, bytes(entries), (1, last, second_at - 1, gpt.entries_at))
    second = _render_header(gpt, bytes(entries), (last, 1, second_at - 1, second_at))
    yield Patch(_BLOCK, first, TABLE_NAME)
    table = bytes(entries).ljust((gpt.blocks - 1) * _BLOCK, b"\0") + second.ljust(_BLOCK, b"\0")
    yield Patch(second_at * _BLOCK, table, "the second partition table")


def _render_header(gpt: _Gpt, entries: bytes, places: tuple[int, int, int, int]) -> bytes:
    magic, revision, size, _, _, _, first_usable, _, guid, _, count, entry_size, _ = gpt.header
    current, alternate, last_usable, entries_at = places
    fields = (current, alternate, first_usable, last_usable, guid, entries_at, count, entry_size)
    header = _GPT_HEADER.pack(magic, revision, size, 0, *fields, zlib.crc32(entries))
    return _GPT_HEADER.pack(magic, revision, size, _checksum(header), *fields, zlib.crc32(entries))


def _checksum(header: bytes) -> int:
    return zlib.crc32(header[:16] + bytes(4) + header[20:])


def _align(value: int, unit: int) -> int:
    return -(-value // unit) * unit
