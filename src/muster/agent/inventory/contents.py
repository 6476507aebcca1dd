# SPDX-License-Identifier: Apache-2.0
"""What is on disks: partition tables, file systems, volume groups. It is what an installation destroys."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from muster.agent.inventory.found import CannotTell
from muster.agent.inventory.patience import ask_within
from muster.agent.inventory.reading import parse_items, parse_json
from muster.frozen import dataclass
from muster.machine import Machine
from muster.model.wire.extras import Content, FileSystem
from muster.run import Said

_DEADLINE_S: Final = 10.0
_COLUMNS: Final = "NAME,KNAME,PATH,TYPE,FSTYPE,LABEL,PARTLABEL,PTTYPE,MOUNTPOINTS"
"""Not all that it has: how full file systems are, it asks those, and a dead one does not answer."""


class Device(msgspec.Struct, frozen=True):
    """A block device in what lsblk says."""

    kname: str
    path: str = ""
    type: str = ""
    fstype: str | None = None
    label: str | None = None
    partlabel: str | None = None
    pttype: str | None = None
    mountpoints: tuple[str | None, ...] = ()
    children: tuple[Device, ...] = ()


@dataclass(frozen=True)
class Contents:
    """What is on disks, by their names; nothing when nobody could look."""

    disks: Mapping[str, Content]
    troubles: tuple[str, ...] = ()


async def read_contents(machine: Machine) -> Contents:
    """What is on the disks of a host."""
    blocks, volumes = await asyncio.gather(
        ask_within(machine, ["lsblk", "-J", "-o", _COLUMNS], _DEADLINE_S),
        ask_within(machine, ["pvs", "--reportformat", "json", "-o", "pv_name,vg_name"], _DEADLINE_S),
    )
    groups, troubles = _groups(volumes)
    if not blocks.is_ok:
        return Contents({}, (*troubles, f"lsblk does not tell what is on disks: {blocks.trouble}"))
    try:
        devices, wrong = parse_devices(blocks.out)
    except CannotTell as error:
        return Contents({}, (*troubles, str(error)))
    return Contents({each.kname: make_content(each, groups) for each in devices}, (*troubles, *wrong))


def parse_devices(text: str) -> tuple[list[Device], tuple[str, ...]]:
    """The block devices at the top, and all that appear below others: a multipath device is a disk, too."""
    found = parse_json(text, "lsblk")
    top, wrong = parse_items(found.get("blockdevices") if isinstance(found, dict) else None, Device, "lsblk")
    return list({each.kname: each for disk in top for each in _walk(disk)}.values()), wrong


def parse_groups(text: str) -> dict[str, str]:
    """The volume group of each device that is a part of one, as pvs tells it."""
    found = parse_json(text, "pvs")
    reports = found.get("report") if isinstance(found, dict) else None
    rows = [row for each in _dicts(reports) for row in _dicts(each.get("pv"))]
    pairs = ((str(row.get("pv_name", "")), row.get("vg_name")) for row in rows)
    return {name: group for name, group in pairs if isinstance(group, str) and group}


def make_content(disk: Device, groups: Mapping[str, str]) -> Content:
    """What is on a disk and in what is made of it."""
    devices = list({each.kname: each for each in _walk(disk)}.values())
    names = (groups.get(each.path) for each in devices)
    return Content(
        partition_table=disk.pttype or "",
        partitions=sum(each.type == "part" for each in devices),
        file_systems=tuple(_file_system(each) for each in devices if each.fstype or any(each.mountpoints)),
        volume_groups=tuple(dict.fromkeys(name for name in names if name)),
    )


def _groups(said: Said) -> tuple[dict[str, str], tuple[str, ...]]:
    if not said.is_ok:
        return {}, (f"pvs does not tell the names of volume groups: {said.trouble}",)
    try:
        return parse_groups(said.out), ()
    except CannotTell as error:
        return {}, (str(error),)


def _walk(device: Device) -> Iterator[Device]:
    yield device
    for each in device.children:
        yield from _walk(each)


def _dicts(found: Any) -> list[dict[str, Any]]:
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _file_system(device: Device) -> FileSystem:
    return FileSystem(
        path=device.path,
        type=device.fstype or "",
        label=device.label or device.partlabel or "",
        device_type=device.type,
        mounted_at=tuple(each for each in device.mountpoints if each),
    )
