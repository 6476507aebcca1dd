# SPDX-License-Identifier: Apache-2.0
"""What kind of disk a block device is, and whether it may be installed on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from muster.agent.inventory.block import BlockDevice, above
from muster.agent.inventory.mounts import Mount
from muster.frozen import dataclass
from muster.model.medium import MEDIUM
from muster.model.wire.enums import DriveType

_MAINFRAME: Final[dict[str, DriveType]] = {"ECKD": "ECKD", "ECKD (ESE)": "ECKD (ESE)", "FBA": "FBA"}
_MAPPED: Final[dict[str, DriveType]] = {"mpath": "Multipath", "LVM": "LVM"}
_SPINNING: Final = ("sd", "vd", "xvd", "hd")
_SOLID: Final = ("nvme", "mmcblk")
_NEVER: Final = frozenset({"FDD", "LVM", "ODD", "Unknown"})
_TARGET: Final = re.compile(r"-iscsi-(.+)-lun-")
_SHOWN: Final = 3


@dataclass(frozen=True)
class Surroundings:
    """What a disk is judged by."""

    devices: Mapping[str, BlockDevice]
    mounts: Sequence[Mount]
    medium_label: str
    """The label of the medium that the system was started from, when it is one."""
    boot_targets: frozenset[str]
    """The iSCSI targets that the firmware knows."""


def is_disk(device: BlockDevice) -> bool:
    """Whether a block device is told of: what the device mapper makes only if it is a disk to people."""
    if device.name.startswith("dm-"):
        return device.mapping in _MAPPED
    return not device.name.startswith("md") or device.size_bytes > 0


def tell_type(device: BlockDevice) -> DriveType:
    """The kind of a disk. How it is reached goes before what it is made of."""
    name = device.name
    if name.startswith("dasd"):
        return _MAINFRAME.get(device.discipline, "Unknown")
    if "-iscsi-" in device.udev.get("ID_PATH", ""):
        return "iSCSI"
    if "-fc-" in device.udev.get("ID_PATH", "") or "/rport-" in device.sysfs:
        return "FC"
    if device.mapping in _MAPPED:
        return _MAPPED[device.mapping]
    if name.startswith("md"):
        return "RAID"
    return _tell_plain_type(device)


def _tell_plain_type(device: BlockDevice) -> DriveType:
    if device.name.startswith("fd"):
        return "FDD"
    if device.name.startswith("sr"):
        return "ODD"
    if device.name.startswith(_SOLID):
        return "SSD"
    if device.name.startswith(_SPINNING):
        return "HDD" if device.is_rotational else "SSD"
    return "Unknown"


def is_medium(device: BlockDevice, around: Surroundings) -> bool:
    """Whether the running system was started from this disk."""
    label = around.medium_label
    numbers = {each.number for each in around.mounts if each.point == MEDIUM}
    return any(node.number in numbers or (label and label in node.labels) for node in device.nodes)


def object_to(device: BlockDevice, kind: DriveType, around: Surroundings) -> Iterator[str]:
    """Why a disk may not be installed on. Size and version are the service's to judge."""
    if is_medium(device, around):
        yield "the disk is the medium that the host was started from"
    if kind in _NEVER:
        yield f"a disk of type {kind} cannot be installed on"
    if device.size_bytes == 0:
        yield "there is no medium in the drive"
    if device.is_read_only:
        yield "the disk can only be read"
    if used := _uses(device, around):
        more = f" and {len(used) - _SHOWN} more" if len(used) > _SHOWN else ""
        yield f"the disk is in use: {', '.join(used[:_SHOWN])}{more}"
    if kind == "iSCSI":
        yield from _object_to_iscsi(device, around)


def _uses(device: BlockDevice, around: Surroundings) -> list[str]:
    found = []
    for node in above(device, around.devices):
        mapped = around.devices[node.name].mapped_name if node.name in around.devices else ""
        sources = {f"/dev/{node.name}", f"/dev/mapper/{mapped}"}
        points = [
            each.point
            for each in around.mounts
            if each.point != MEDIUM and (each.number == node.number or each.source in sources)
        ]
        if points:
            found.append(f"/dev/{node.name} is mounted at {points[0]}")
    return found


def _object_to_iscsi(device: BlockDevice, around: Surroundings) -> Iterator[str]:
    if device.state != "running":
        yield f"the connection to the iSCSI disk is {device.state or 'of unknown state'}"
    match = _TARGET.search(device.udev.get("ID_PATH", ""))
    if match is None or match[1] not in around.boot_targets:
        yield "the firmware does not know the iSCSI target, so the host could not start from it"
