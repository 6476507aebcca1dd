# SPDX-License-Identifier: Apache-2.0
"""What an ELF file asks of the dynamic loader: the shared libraries that it needs, and where they may be."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from muster.frozen import dataclass

_MAGIC: Final = b"\x7fELF\x02\x01"
"""64 bits, low byte first: all architectures that we build for."""
_LOAD, _DYNAMIC, _INTERPRETER = 1, 2, 3
_END, _NEEDED, _STRINGS, _NAME, _RPATH, _RUNPATH = 0, 1, 5, 14, 15, 29
_TEXTS: Final = (_NEEDED, _NAME, _RPATH, _RUNPATH)
_SEGMENT: Final = struct.Struct("<IIQQQQ8x8x")

Data = bytes | mmap.mmap


class DamagedElf(Exception):
    """It begins as an ELF file, and is none."""


@dataclass(frozen=True)
class Linked:
    """How a program or library is linked; one that is static needs nothing."""

    needed: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    """Folders of its own (DT_RPATH, DT_RUNPATH), before those of the system."""
    interpreter: str = ""
    name: str = ""
    """By which others need it (DT_SONAME)."""


@dataclass(frozen=True)
class _Segment:
    kind: int
    offset: int
    address: int
    size: int


def load_elf(path: Path) -> Linked | None:
    """How a file is linked; None if it is no ELF file."""
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            return None
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return parse_elf(data)


def parse_elf(data: Data) -> Linked | None:
    """How the file with this content is linked; None if it is no ELF file."""
    if data[: len(_MAGIC)] != _MAGIC:
        return None
    try:
        segments = tuple(_segments(data))
        entries = tuple(_entries(data, segments))
        strings = [value for tag, value in entries if tag == _STRINGS]
        table = _offset(segments, strings[0]) if strings else 0
        named = [(tag, _text(data, table + value)) for tag, value in entries if tag in _TEXTS]
        interpreters = [_text(data, each.offset) for each in segments if each.kind == _INTERPRETER]
    except (struct.error, ValueError) as error:
        raise DamagedElf(str(error)) from error
    return Linked(
        tuple(text for tag, text in named if tag == _NEEDED),
        tuple(place for tag, text in named if tag in (_RPATH, _RUNPATH) for place in text.split(":")),
        "".join(interpreters),
        "".join(text for tag, text in named if tag == _NAME),
    )


def _segments(data: Data) -> Iterator[_Segment]:
    (start,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for number in range(count):
        kind, _flags, offset, address, _physical, length = _SEGMENT.unpack_from(data, start + number * size)
        yield _Segment(kind, offset, address, length)


def _entries(data: Data, segments: tuple[_Segment, ...]) -> Iterator[tuple[int, int]]:
    for segment in segments:
        if segment.kind == _DYNAMIC:
            for place in range(segment.offset, segment.offset + segment.size, 16):
                tag, value = struct.unpack_from("<QQ", data, place)
                if tag == _END:
                    break
                yield tag, value


def _offset(segments: tuple[_Segment, ...], address: int) -> int:
    """Where in the file something is that is at an address once it is loaded."""
    for each in segments:
        if each.kind == _LOAD and each.address <= address < each.address + each.size:
            return address - each.address + each.offset
    raise ValueError("its table of strings is nowhere")


def _text(data: Data, offset: int) -> str:
    end = data.find(b"\0", offset)
    if offset > len(data) or end < 0:
        raise ValueError("a text does not end")
    return data[offset:end].decode("utf-8", "replace")
