# SPDX-License-Identifier: Apache-2.0
"""The block devices of a machine as lsblk shows them: disks, and what is built on top of them.

Every question is answered by exact names of the kernel: sda is never taken for sdaa.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from muster.errors import ExternalError
from muster.frozen import dataclass

COLUMNS: Final = "NAME,KNAME,PATH,TYPE,SIZE,SERIAL,WWN,MODEL,FSTYPE,LABEL,MOUNTPOINTS,RO"
LSBLK: Final = ("lsblk", "--json", "--bytes", "--output", COLUMNS)
DISKS: Final = ("disk", "mpath", "rom")
"""Kinds of devices that data is on, and that are no part of another one. RAID arrays may be used so, too."""


class _Row(msgspec.Struct):
    """A device in the answer of lsblk; what is on top of several devices appears below each of them."""

    name: str
    kname: str
    path: str
    type: str
    size: int | None = None
    serial: str | None = None
    wwn: str | None = None
    model: str | None = None
    fstype: str | None = None
    label: str | None = None
    mountpoints: tuple[str | None, ...] = ()
    ro: bool = False
    children: tuple[_Row, ...] = ()


class _Answer(msgspec.Struct):
    blockdevices: tuple[_Row, ...]


@dataclass(frozen=True)
class Block:
    """A block device."""

    kname: str
    """The kernel's name, which no other device has: sda, sda1, dm-0."""
    name: str
    """As people know it; that of device mapper if it is one of its devices."""
    path: str
    kind: str
    """disk, part, lvm, crypt, mpath, raid1, rom, loop ..."""
    size_bytes: int
    serial: str = ""
    wwn: str = ""
    model: str = ""
    fstype: str = ""
    label: str = ""
    mounts: tuple[str, ...] = ()
    read_only: bool = False
    parents: tuple[str, ...] = ()
    """What it is directly on top of, by kernel's names."""

    @property
    def is_array(self) -> bool:
        """Whether it is a RAID array of the kernel."""
        return self.kname.startswith("md")

    @property
    def is_mapped(self) -> bool:
        """Whether device mapper made it."""
        return self.kname.startswith("dm-")


Blocks = Mapping[str, Block]
"""All devices, by kernel's names; what is below comes before what is on top of it."""


def parse_blocks(text: str) -> Blocks:
    """What ``lsblk`` with the arguments above has said."""
    try:
        answer = msgspec.json.decode(text, type=_Answer)
    except msgspec.DecodeError as error:
        raise ExternalError(
            f"the answer of lsblk about the disks cannot be read: {error}",
            hint=f"run it by hand: {' '.join(LSBLK)}",
        ) from error
    rows: dict[str, _Row] = {}
    parents: dict[str, dict[str, None]] = {}
    for row, parent in _walk(answer.blockdevices, None):
        rows.setdefault(row.kname, row)
        parents.setdefault(row.kname, {})
        if parent is not None:
            parents[row.kname][parent.kname] = None
    ordered = sorted(rows, key=lambda kname: _depth(kname, parents))
    return {kname: _block(rows[kname], tuple(parents[kname])) for kname in ordered}


def _walk(rows: Iterable[_Row], parent: _Row | None) -> Iterator[tuple[_Row, _Row | None]]:
    for row in rows:
        yield row, parent
        yield from _walk(row.children, row)


def _depth(kname: str, parents: Mapping[str, Iterable[str]]) -> int:
    return max((1 + _depth(each, parents) for each in parents[kname]), default=0)


def _block(row: _Row, parents: tuple[str, ...]) -> Block:
    return Block(
        kname=row.kname,
        name=row.name,
        path=row.path,
        kind=row.type,
        size_bytes=row.size or 0,
        serial=(row.serial or "").strip(),
        wwn=(row.wwn or "").strip(),
        model=(row.model or "").strip(),
        fstype=row.fstype or "",
        label=row.label or "",
        mounts=tuple(each for each in row.mountpoints if each),
        read_only=row.ro,
        parents=parents,
    )


def find_block(blocks: Blocks, path: str) -> Block | None:
    """The device of a path, be it the one of people (/dev/mapper/vg0-root) or the kernel's (/dev/dm-3)."""
    for block in blocks.values():
        if path in (block.path, f"/dev/{block.kname}"):
            return block
    return None


def on_top_of(blocks: Blocks, *knames: str) -> tuple[Block, ...]:
    """Everything that is built on some devices, without those themselves; what is below comes first."""
    found = set(knames)
    for block in blocks.values():
        if found.intersection(block.parents):
            found.add(block.kname)
    return tuple(block for block in blocks.values() if block.kname in found and block.kname not in knames)


def disks_below(blocks: Blocks, kname: str, known: frozenset[str] = frozenset()) -> frozenset[str]:
    """The disks that a device is on in the end; those ``known`` to be used as disks count as such."""
    block = blocks[kname]
    if kname in known or block.kind in DISKS or not block.parents:
        return frozenset((kname,))
    return frozenset().union(*(disks_below(blocks, each, known) for each in block.parents))
