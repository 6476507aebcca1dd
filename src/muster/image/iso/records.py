# SPDX-License-Identifier: Apache-2.0
"""Directory records of ISO 9660 (ECMA-119 section 9.1) and their Rock Ridge names, from bytes to data."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

from muster.errors import MediaError
from muster.frozen import dataclass

SECTOR = 2048
IS_DIRECTORY = 0x02
CONTINUES = 0x80
DAMAGED = "get the image again and compare its checksum"

_FIXED = struct.Struct("<BBI4xI4x7xBBB4xB")
_MAX_CONTINUATIONS = 16
_NAME_SPECIAL = 0x06


@dataclass(frozen=True)
class Record:
    """One entry of a directory, and where in the image it stands."""

    at: int
    lba: int
    length: int
    flags: int
    name: bytes
    extra: bytes

    @property
    def is_directory(self) -> bool:
        return bool(self.flags & IS_DIRECTORY)

    @property
    def is_self_or_parent(self) -> bool:
        return self.name in (b"\0", b"\1")


def parse_record(data: bytes, position: int, at: int) -> Record:
    """The record that starts at a position of a directory; `at` is where that is in the image."""
    size = data[position]
    if size < _FIXED.size + 1 or position + size > len(data):
        raise _broken(at, f"has a length of {size} bytes")
    _, attributes, lba, length, flags, unit, gap, name_length = _FIXED.unpack_from(data, position)
    name_end = position + _FIXED.size + name_length
    if name_length == 0 or name_end > position + size:
        raise _broken(at, f"has a name of {name_length} bytes in a record of {size}")
    if attributes or unit or gap:
        raise _broken(at, "is interleaved or has an extended attribute record, which Muster does not read")
    name = data[position + _FIXED.size : name_end]
    padded = name_end + (1 - name_length % 2)
    return Record(at, lba, length, flags, name, data[padded : position + size])


def parse_records(data: bytes, at: int) -> Iterator[Record]:
    """Every record of a directory that starts at the byte `at` of the image."""
    position = 0
    while position < len(data):
        if data[position] == 0:
            position = (position // SECTOR + 1) * SECTOR
            continue
        if position % SECTOR + data[position] > SECTOR:
            raise _broken(at + position, f"has a length of {data[position]} bytes, more than its sector has")
        yield parse_record(data, position, at + position)
        position += data[position]


def plain_name(name: bytes, *, joliet: bool = False) -> str:
    """The name as people write it: no version, no dot at the end."""
    text = name.decode("utf-16-be", "replace") if joliet else name.decode("latin-1")
    stem, separator, version = text.rpartition(";")
    if separator and version.isdecimal():
        text = stem
    return text.removesuffix(".")


def find_skip(root_self: Record) -> int | None:
    """How many bytes precede the system use entries; None when the volume has none (SUSP 5.3)."""
    extra = root_self.extra
    if len(extra) >= 7 and extra[:2] == b"SP" and extra[4:6] == b"\xbe\xef":
        return extra[6]
    return None


def find_rock_ridge_name(extra: bytes, more: Callable[[int, int, int], bytes]) -> str | None:
    """The long name of a record, if it has one; `more(lba, offset, length)` reads a continuation."""
    parts: list[bytes] = []
    for _ in range(_MAX_CONTINUATIONS):
        continuation = b""
        for signature, body in _entries(extra):
            if signature == b"NM" and body and not body[0] & _NAME_SPECIAL:
                parts.append(body[1:])
            elif signature == b"CE" and len(body) >= 24:
                continuation = body
        if not continuation:
            return b"".join(parts).decode("utf-8", "replace") if parts else None
        lba, offset, length = struct.unpack_from("<I4xI4xI", continuation)
        extra = more(lba, offset, length)
    raise MediaError("a directory record of the image continues without end", hint=DAMAGED)


def _entries(extra: bytes) -> Iterator[tuple[bytes, bytes]]:
    position = 0
    while position + 4 <= len(extra):
        size = extra[position + 2]
        if size < 4 or position + size > len(extra):
            return
        yield extra[position : position + 2], extra[position + 4 : position + size]
        position += size


def _broken(at: int, what: str) -> MediaError:
    return MediaError(f"the directory record at byte {at} {what}", hint=DAMAGED)
