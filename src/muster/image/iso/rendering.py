# SPDX-License-Identifier: Apache-2.0
"""Directory records, folders and path tables of ISO 9660 with Rock Ridge and Joliet, from data to bytes."""

from __future__ import annotations

import re
import stat
import struct
from collections.abc import Iterable, Mapping, Sequence

from muster.errors import MediaError
from muster.frozen import dataclass
from muster.image.iso.records import IS_DIRECTORY, SECTOR


@dataclass(frozen=True)
class Node:
    """A file or folder: its path, its name in records, and its mode."""

    path: str
    ident: bytes
    mode: int

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.mode)

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class PathEntry:
    """A folder in a path table; its parent is a number, and numbers begin with 1."""

    ident: bytes
    lba: int
    parent: int


def with_short_names(entries: Mapping[str, int]) -> list[Node]:
    """Files and folders of one folder, given by path with their modes, in the order of their 8.3 names."""
    taken: set[bytes] = set()
    nodes = []
    for path in sorted(entries):
        stem, _, suffix = path.rpartition("/")[2].upper().rpartition(".")
        if not stem or stat.S_ISDIR(entries[path]):
            stem, suffix = f"{stem}_{suffix}".strip("_") or "_", ""
        stem, suffix = (re.sub("[^A-Z0-9]", "_", part) for part in (stem, suffix))
        short, number = _short(stem[:8], suffix[:3], entries[path]), 0
        while short in taken:
            number += 1
            tail = str(number)
            short = _short(stem[: 8 - len(tail)] + tail, suffix[:3], entries[path])
        taken.add(short)
        nodes.append(Node(path, short, entries[path]))
    return sorted(nodes, key=lambda node: node.ident)


def _short(stem: str, suffix: str, mode: int) -> bytes:
    return (stem if stat.S_ISDIR(mode) else f"{stem}.{suffix};1").encode("ascii")


def render_folder(records: Iterable[bytes]) -> bytes:
    """The bytes of a folder: no record crosses a border of sectors."""
    parts: list[bytes] = []
    room = SECTOR
    for record in records:
        if len(record) > room:
            parts.append(bytes(room))
            room = SECTOR
        parts.append(record)
        room -= len(record)
    return pad(b"".join(parts))


def render_record(
    name: bytes, extent: tuple[int, int], date: bytes, extra: bytes = b"", *, is_file: bool = False
) -> bytes:
    """A record of a folder; the extent is a sector and a length, and `extra` what Rock Ridge says."""
    body = both(extent[0]) + both(extent[1]) + date
    body += bytes([0 if is_file else IS_DIRECTORY, 0, 0]) + both_short(1) + bytes([len(name)]) + name
    body += bytes(1 - len(name) % 2) + extra
    body += bytes(len(body) % 2)
    return bytes([len(body) + 2, 0]) + body


def owned_by_root(mode: int) -> bytes:
    """Whose it is, for Rock Ridge."""
    links = 2 if stat.S_ISDIR(mode) else 1
    return struct.pack("<2sBB", b"PX", 36, 1) + both(mode) + both(links) + both(0) + both(0)


def made_at(date: bytes) -> bytes:
    """When it was made, for Rock Ridge."""
    return struct.pack("<2sBBB", b"TF", 26, 1, 0x0E) + date * 3


def long_name(name: str) -> bytes:
    """What it is called, for Rock Ridge."""
    data = name.encode()
    return struct.pack("<2sBBB", b"NM", 5 + len(data), 1, 0) + data


def render_path_table(folders: Sequence[PathEntry], order: str) -> bytes:
    """A path table in one of both byte orders, `<` or `>`."""
    parts = (
        struct.pack(f"{order}BBIH", len(each.ident), 0, each.lba, each.parent)
        + each.ident
        + bytes(len(each.ident) % 2)
        for each in folders
    )
    return b"".join(parts)


def sectors(length: int) -> int:
    """How many sectors so many bytes take."""
    return -(-length // SECTOR)


def pad(data: bytes) -> bytes:
    """Full sectors."""
    return data + bytes(-len(data) % SECTOR)


def both(value: int) -> bytes:
    """A number in both byte orders, as ISO 9660 keeps them."""
    if not 0 <= value < 1 << 32:
        raise MediaError(f"an image cannot hold {value} blocks or bytes in one place", hint="use less data")
    return struct.pack("<I", value) + struct.pack(">I", value)


def both_short(value: int) -> bytes:
    """A small number in both byte orders."""
    return struct.pack("<H", value) + struct.pack(">H", value)
