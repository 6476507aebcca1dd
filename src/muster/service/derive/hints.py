# SPDX-License-Identifier: Apache-2.0
"""Hints about the disk to install on: which disks of a host they mean. A disk has to match all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from muster.model.host import RootDeviceHints
from muster.model.wire.inventory import Disk

_GB: Final = 1000**3
_SPINS: Final = "HDD"


def matching_disks(hints: RootDeviceHints, disks: Iterable[Disk]) -> list[Disk]:
    """The disks that are meant; more than one when the hints leave a choice."""
    given = [check for name, check in _CHECKS.items() if getattr(hints, name) is not None]
    return [disk for disk in disks if all(check(hints, disk) for check in given)]


def _size(hints: RootDeviceHints, disk: Disk) -> bool:
    return (disk.size_bytes or 0) >= (hints.min_size_gigabytes or 0) * _GB


def _wwn(hints: RootDeviceHints, disk: Disk) -> bool:
    def plain(text: str) -> str:
        return text.lower().removeprefix("naa.").removeprefix("0x")

    return plain(disk.wwn or "") == plain(hints.wwn or "")


def _device_name(hints: RootDeviceHints, disk: Disk) -> bool:
    """By any of its names. udev has two for the place of a SATA disk: with its LUN, a 0, and without."""
    names = {disk.path, disk.by_id, disk.by_path}
    if disk.by_path and "-ata-" in disk.by_path:
        names.add(disk.by_path.removesuffix(".0"))
    return hints.device_name in names


_CHECKS: Final[Mapping[str, Callable[[RootDeviceHints, Disk], bool]]] = {
    "device_name": _device_name,
    "hctl": lambda hints, disk: hints.hctl == disk.hctl,
    "model": lambda hints, disk: (hints.model or "").lower() in (disk.model or "").lower(),
    "vendor": lambda hints, disk: (hints.vendor or "").lower() in (disk.vendor or "").lower(),
    "serial_number": lambda hints, disk: hints.serial_number == disk.serial,
    "min_size_gigabytes": _size,
    "wwn": _wwn,
    "rotational": lambda hints, disk: hints.rotational is (disk.drive_type == _SPINS),
}
