# SPDX-License-Identifier: Apache-2.0
"""The partitions of a disk that was written, found by the table on the disk and the kernel's numbers.

Names of udev are not used: it may not have come to them yet, and another disk may have the same ones.
"""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

from muster.errors import ExternalError, cannot
from muster.frozen import dataclass
from muster.machine import Machine
from muster.node.blocks import Block, find_block, on_top_of
from muster.node.disk import read_blocks
from muster.node.gpt import EFI_SYSTEM, Partition, read_table


@dataclass(frozen=True)
class Part:
    """A partition with its device."""

    number: int
    device: str


@dataclass(frozen=True)
class WrittenDisk:
    """A disk that the system was written to."""

    path: str
    root: Part
    boot: Part
    efi: Part | None = None


async def find_parts(machine: Machine, disk: str) -> WrittenDisk:
    """Look at the table of a disk; `ExternalError` if it is not one of a system that was written."""
    table = await asyncio.to_thread(_load_table, machine.root / disk.lstrip("/"))
    blocks = await read_blocks(machine)
    block = find_block(blocks, disk)
    devices = {} if block is None else _by_number(machine.root, block, on_top_of(blocks, block.kname))

    def find(partition: Partition | None) -> Part | None:
        if partition is None or partition.number not in devices:
            return None
        return Part(partition.number, devices[partition.number])

    by_name = {each.name: each for each in table}
    root, boot = find(by_name.get("root")), find(by_name.get("boot"))
    if root is None or boot is None:
        raise ExternalError(
            f"the disk {disk} has no partition root or boot that the kernel knows",
            hint=f"let the kernel read its table again: partx --update {disk}",
        )
    return WrittenDisk(
        disk, root, boot, find(next((each for each in table if each.kind == EFI_SYSTEM), None))
    )


def _load_table(path: Path) -> tuple[Partition, ...]:
    try:
        with path.open("rb", buffering=0) as file:
            return read_table(lambda size, offset: os.pread(file.fileno(), size, offset), str(path))
    except OSError as error:
        raise cannot("read", path, error) from error


def _by_number(root: Path, disk: Block, on_top: tuple[Block, ...]) -> dict[int, str]:
    found = {}
    for block in on_top:
        if block.kind == "part" and disk.kname in block.parents:
            number = _number(root, disk, block)
            if number is not None:
                found[number] = block.path
    return found


def _number(root: Path, disk: Block, part: Block) -> int | None:
    """The kernel says it; of a multipath device, the name does."""
    try:
        return int((root / "sys/class/block" / part.kname / "partition").read_text("ascii"))
    except (OSError, ValueError):
        match = re.fullmatch(r"(?:p|-part)?([0-9]{1,3})", part.name.removeprefix(disk.name))
        return int(match[1]) if match and part.is_mapped else None
