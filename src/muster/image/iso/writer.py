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
from muster.image.iso.records import SECTOR
from muster.image.iso.rendering import (
    Node,
    PathEntry,
    both,
    both_short,
    long_name,
    made_at,
    owned_by_root,
    pad,
    render_folder,
    render_path_table,
    render_record,
    sectors,
    with_short_names,
)

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


class _Plan:
    """The tree of an image, and where everything in it goes."""

    def __init__(self, files: Mapping[str, bytes], when: datetime) -> None:
        self.files = files
        moment = when.astimezone(UTC)
        self.date = bytes([moment.year - 1900, *moment.timetuple()[1:6], 0])
        self.children = _sort_tree(files)
        self.folders = [Node("", b"\0", _FOLDER_MODE)]
        for folder in self.folders:
            self.folders += [node for node in self.children[folder.path] if node.is_folder]
        self.path_table_bytes = sum(8 + len(node.ident) + len(node.ident) % 2 for node in self.folders)
        self.extension_lba = 0
        self.extents: dict[str, tuple[int, int]] = {}
        self.sectors = self._place()

    def _place(self) -> int:
        """Give everything its sectors: descriptors, path tables, folders, the extension, files."""
        lba = _FIRST_SECTOR + 2 + 2 * sectors(self.path_table_bytes)
        for folder in self.folders:
            length = len(render_folder(_folder_records(self, folder)))
            self.extents[folder.path] = lba, length
            lba += length // SECTOR
        self.extension_lba = lba
        lba += 1
        for path in sorted(self.files):
            self.extents[path] = lba, len(self.files[path])
            lba += sectors(len(self.files[path]))
        return lba


def render_iso(files: Mapping[str, bytes], *, label: str, when: datetime) -> bytes:
    """An image that holds these files, given by path; every date in it is `when`."""
    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,32}", label):
        raise MediaError(
            f"{label!r} cannot be the label of an image", hint="use up to 32 letters, digits, and _ . -"
        )
    plan = _Plan(files, when)
    tables = [pad(render_path_table(_path_entries(plan), order)) for order in "<>"]
    folders = [render_folder(_folder_records(plan, folder)) for folder in plan.folders]
    contents = [pad(files[path]) for path in sorted(files)]
    parts = [
        bytes(_FIRST_SECTOR * SECTOR),
        _render_descriptor(plan, label, when.astimezone(UTC)),
        pad(b"\xffCD001\x01"),
        *tables,
        *folders,
        pad(_render_extension()),
        *contents,
    ]
    return b"".join(parts)


def _sort_tree(files: Mapping[str, bytes]) -> dict[str, list[Node]]:
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
    return {folder: with_short_names(entries) for folder, entries in names.items()}


def _check_path(path: str) -> None:
    parts = path.split("/")
    if any(part in ("", ".", "..") or len(part.encode()) > _MAX_NAME or "\0" in part for part in parts):
        raise MediaError(
            f"{path!r} is not a path for an image",
            hint=f"use relative paths and names up to {_MAX_NAME} bytes",
        )
    if len(parts) > _MAX_DEPTH:
        raise MediaError(f"{path} is more than {_MAX_DEPTH} folders deep", hint="put it less deep")


def _folder_records(plan: _Plan, folder: Node) -> Iterator[bytes]:
    parent = folder.path.rpartition("/")[0]
    times, mine = made_at(plan.date), owned_by_root(_FOLDER_MODE)
    first = b"SP\x07\x01\xbe\xef\0" if not folder.path else b""
    last = _continuation(plan.extension_lba) if not folder.path else b""
    own, up = plan.extents.get(folder.path, (0, 0)), plan.extents.get(parent, (0, 0))
    yield render_record(b"\0", own, plan.date, first + mine + times + last)
    yield render_record(b"\1", up, plan.date, mine + times)
    for node in plan.children[folder.path]:
        extra = owned_by_root(node.mode) + times + long_name(node.name)
        extent = plan.extents.get(node.path, (0, 0))
        yield render_record(node.ident, extent, plan.date, extra, is_file=not node.is_folder)


def _continuation(lba: int) -> bytes:
    return struct.pack("<2sBB", b"CE", 28, 1) + both(lba) + both(0) + both(len(_render_extension()))


def _render_extension() -> bytes:
    sizes = [len(text) for text in _EXTENSION]
    return struct.pack("<2sBBBBBB", b"ER", 8 + sum(sizes), 1, *sizes, 1) + b"".join(_EXTENSION)


def _path_entries(plan: _Plan) -> list[PathEntry]:
    numbers = {folder.path: number for number, folder in enumerate(plan.folders, 1)}
    return [
        PathEntry(each.ident, plan.extents[each.path][0], numbers[each.path.rpartition("/")[0]])
        for each in plan.folders
    ]


def _render_descriptor(plan: _Plan, label: str, moment: datetime) -> bytes:
    table = _FIRST_SECTOR + 2
    tables = struct.pack("<II", table, 0) + struct.pack(">II", table + sectors(plan.path_table_bytes), 0)
    root = render_record(b"\0", plan.extents[""], plan.date)
    date = moment.strftime("%Y%m%d%H%M%S00").encode() + b"\0"
    never = b"0" * 16 + b"\0"
    return pad(
        b"\x01CD001\x01\0"
        + b"LINUX".ljust(32)
        + label.encode().ljust(32)
        + bytes(8)
        + both(plan.sectors)
        + bytes(32)
        + both_short(1) * 2
        + both_short(SECTOR)
        + both(plan.path_table_bytes)
        + tables
        + root
        + b" " * (128 * 4 + 37 * 3)
        + date
        + date
        + never
        + never
        + b"\x01\0"
    )
