# SPDX-License-Identifier: Apache-2.0
"""Makes small ISO images that hold configuration: Rock Ridge names, no boot, the same bytes every time.

They hold secrets: whoever mounts one, its files are for root alone.
"""

from __future__ import annotations

import re
import stat
import struct
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from muster.errors import MediaError
from muster.frozen import dataclass
from muster.image.iso.records import IS_DIRECTORY, SECTOR

_FIRST_SECTOR = 16
_MAX_DEPTH = 8
_MAX_NAME = 130
_FOLDER_MODE = stat.S_IFDIR | 0o700
_FILE_MODE = stat.S_IFREG | 0o600
_EXTENSION = (
    b"RRIP_1991A",
    b"THE ROCK RIDGE INTERCHANGE PROTOCOL PROVIDES SUPPORT FOR POSIX FILE SYSTEM SEMANTICS",
    b"PLEASE CONTACT DISC PUBLISHER FOR SPECIFICATION SOURCE.  SEE PUBLISHER IDENTIFIER IN PRIMARY VOLUME "
    b"DESCRIPTOR FOR CONTACT INFORMATION.",
)


@dataclass(frozen=True)
class _Node:
    """A file or folder: its path, its 8.3 name, and where its bytes stand."""

    path: str
    short: bytes
    mode: int
    lba: int = 0
    length: int = 0

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.mode)


class _Plan:
    """The tree of an image, and where everything in it goes."""

    def __init__(self, files: Mapping[str, bytes], when: datetime) -> None:
        self.files = files
        moment = when.astimezone(UTC)
        self.date = bytes([moment.year - 1900, *moment.timetuple()[1:6], 0])
        self.children = _sort_tree(files)
        self.folders = [_Node("", b"\0", _FOLDER_MODE)]
        for folder in self.folders:
            self.folders += [node for node in self.children[folder.path] if node.is_folder]
        self.path_table_bytes = sum(8 + len(node.short) + len(node.short) % 2 for node in self.folders)
        self.extension_lba = 0
        self.extents: dict[str, tuple[int, int]] = {}
        self.sectors = self._place()

    def _place(self) -> int:
        """Give everything its sectors: descriptors, path tables, folders, the extension, files."""
        lba = _FIRST_SECTOR + 2 + 2 * _sectors(self.path_table_bytes)
        for folder in self.folders:
            length = len(_render_folder(self, folder))
            self.extents[folder.path] = lba, length
            lba += length // SECTOR
        self.extension_lba = lba
        lba += 1
        for path in sorted(self.files):
            self.extents[path] = lba, len(self.files[path])
            lba += _sectors(len(self.files[path]))
        return lba


def render_iso(files: Mapping[str, bytes], *, label: str, when: datetime) -> bytes:
    """An image that holds these files, given by path; every date in it is `when`."""
    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,32}", label):
        raise MediaError(
            f"{label!r} cannot be the label of an image", hint="use up to 32 letters, digits, and _ . -"
        )
    plan = _Plan(files, when)
    tables = [_pad(_render_path_table(plan, order)) for order in "<>"]
    folders = [_render_folder(plan, folder) for folder in plan.folders]
    contents = [_pad(files[path]) for path in sorted(files)]
    parts = [
        bytes(_FIRST_SECTOR * SECTOR),
        _render_descriptor(plan, label, when.astimezone(UTC)),
        _pad(b"\xffCD001\x01"),
        *tables,
        *folders,
        _pad(_render_extension()),
        *contents,
    ]
    return b"".join(parts)


def _sort_tree(files: Mapping[str, bytes]) -> dict[str, list[_Node]]:
    """The nodes of each folder, in the order of their 8.3 names."""
    names: dict[str, dict[str, int]] = {"": {}}
    for path in sorted(files):
        _check_path(path)
        names.setdefault(path.rpartition("/")[0], {})[path] = _FILE_MODE
        folder = path.rpartition("/")[0]
        while folder:
            if folder in files:
                raise MediaError(f"{folder} is a file and a folder", hint="rename one of the two")
            above = folder.rpartition("/")[0]
            names.setdefault(above, {})[folder] = _FOLDER_MODE
            folder = above
    return {folder: _with_short_names(entries) for folder, entries in names.items()}


def _check_path(path: str) -> None:
    parts = path.split("/")
    if any(part in ("", ".", "..") or len(part.encode()) > _MAX_NAME or "\0" in part for part in parts):
        raise MediaError(
            f"{path!r} is not a path for an image",
            hint=f"use relative paths and names up to {_MAX_NAME} bytes",
        )
    if len(parts) > _MAX_DEPTH:
        raise MediaError(f"{path} is more than {_MAX_DEPTH} folders deep", hint="put it less deep")


def _with_short_names(entries: Mapping[str, int]) -> list[_Node]:
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
        nodes.append(_Node(path, short, entries[path]))
    return sorted(nodes, key=lambda node: node.short)


def _short(stem: str, suffix: str, mode: int) -> bytes:
    return (stem if stat.S_ISDIR(mode) else f"{stem}.{suffix};1").encode("ascii")


def _render_folder(plan: _Plan, folder: _Node) -> bytes:
    parent = folder.path.rpartition("/")[0]
    parts: list[bytes] = []
    room = SECTOR
    for record in _folder_records(plan, folder, parent):
        if len(record) > room:
            parts.append(bytes(room))
            room = SECTOR
        parts.append(record)
        room -= len(record)
    return _pad(b"".join(parts))


def _folder_records(plan: _Plan, folder: _Node, parent: str) -> Iterator[bytes]:
    times = struct.pack("<2sBBB", b"TF", 26, 1, 0x0E) + plan.date * 3
    first = b"SP\x07\x01\xbe\xef\0" if not folder.path else b""
    last = _continuation(plan.extension_lba) if not folder.path else b""
    own, up = plan.extents.get(folder.path, (0, 0)), plan.extents.get(parent, (0, 0))
    yield _record(plan, b"\0", own, first + _owner(_FOLDER_MODE) + times + last)
    yield _record(plan, b"\1", up, _owner(_FOLDER_MODE) + times)
    for node in plan.children[folder.path]:
        name = node.path.rpartition("/")[2].encode()
        extra = _owner(node.mode) + times + struct.pack("<2sBBB", b"NM", 5 + len(name), 1, 0) + name
        yield _record(
            plan, node.short, plan.extents.get(node.path, (0, 0)), extra, is_file=not node.is_folder
        )


def _record(
    plan: _Plan, name: bytes, extent: tuple[int, int], extra: bytes, *, is_file: bool = False
) -> bytes:
    body = _both(extent[0]) + _both(extent[1]) + plan.date
    body += bytes([0 if is_file else IS_DIRECTORY, 0, 0]) + _both_short(1) + bytes([len(name)]) + name
    body += bytes(1 - len(name) % 2) + extra
    body += bytes(len(body) % 2)
    return bytes([len(body) + 2, 0]) + body


def _owner(mode: int) -> bytes:
    links = 2 if stat.S_ISDIR(mode) else 1
    return struct.pack("<2sBB", b"PX", 36, 1) + _both(mode) + _both(links) + _both(0) + _both(0)


def _continuation(lba: int) -> bytes:
    return struct.pack("<2sBB", b"CE", 28, 1) + _both(lba) + _both(0) + _both(len(_render_extension()))


def _render_extension() -> bytes:
    sizes = [len(text) for text in _EXTENSION]
    return struct.pack("<2sBBBBBB", b"ER", 8 + sum(sizes), 1, *sizes, 1) + b"".join(_EXTENSION)


def _render_path_table(plan: _Plan, order: str) -> bytes:
    numbers = {folder.path: number for number, folder in enumerate(plan.folders, 1)}
    parts = []
    for folder in plan.folders:
        lba, parent = plan.extents[folder.path][0], numbers[folder.path.rpartition("/")[0]]
        head = struct.pack(f"{order}BBIH", len(folder.short), 0, lba, parent)
        parts.append(head + folder.short + bytes(len(folder.short) % 2))
    return b"".join(parts)


def _render_descriptor(plan: _Plan, label: str, moment: datetime) -> bytes:
    table = _FIRST_SECTOR + 2
    tables = struct.pack("<II", table, 0) + struct.pack(">II", table + _sectors(plan.path_table_bytes), 0)
    root = _record(plan, b"\0", plan.extents[""], b"")
    date = moment.strftime("%Y%m%d%H%M%S00").encode() + b"\0"
    never = b"0" * 16 + b"\0"
    return _pad(
        b"\x01CD001\x01\0"
        + b"LINUX".ljust(32)
        + label.encode().ljust(32)
        + bytes(8)
        + _both(plan.sectors)
        + bytes(32)
        + _both_short(1) * 2
        + _both_short(SECTOR)
        + _both(plan.path_table_bytes)
        + tables
        + root
        + b" " * (128 * 4 + 37 * 3)
        + date
        + date
        + never
        + never
        + b"\x01\0"
    )


def _sectors(length: int) -> int:
    return -(-length // SECTOR)


def _pad(data: bytes) -> bytes:
    return data + bytes(-len(data) % SECTOR)


def _both(value: int) -> bytes:
    if value >= 1 << 32:
        raise MediaError(f"a file or image of {value} bytes or sectors is too large", hint="use less data")
    return struct.pack("<I", value) + struct.pack(">I", value)


def _both_short(value: int) -> bytes:
    return struct.pack("<H", value) + struct.pack(">H", value)
