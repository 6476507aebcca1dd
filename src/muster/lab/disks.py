# SPDX-License-Identifier: Apache-2.0
"""Which disks a machine gets, so that the site's hints find exactly the one that they mean."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Final

from muster.errors import UserError
from muster.lab.plan import GIB, Disk
from muster.model.host import RootDeviceHints
from muster.model.lab import Bus, LabDisk

DEFAULT_GIB: Final = 20
_GIGABYTE: Final = 1000**3
_LONGEST_SERIAL: Final = {Bus.VIRTIO: 20, Bus.NVME: 20, Bus.SATA: 20, Bus.SCSI: 36}
_NAMES: Final = (
    (re.compile(r"/dev/sd([a-z])"), Bus.SCSI),
    (re.compile(r"/dev/vd([a-z])"), Bus.VIRTIO),
    (re.compile(r"/dev/nvme(\d)n1"), Bus.NVME),
)
_BY_PATH: Final = re.compile(r"/dev/disk/by-path/pci-0000:00:([01][0-9a-f]\.[0-7])-ata-([1-6])")
"""The names that the lab can give by placing a SATA controller where they say."""


def plan_disks(host: str, hints: RootDeviceHints | None, written: Sequence[LabDisk]) -> tuple[Disk, ...]:
    """The disks that lab.yaml gives to a host, else those that its hints ask for."""
    if written:
        return tuple(_from_file(host, index, disk) for index, disk in enumerate(written))
    hints = hints or RootDeviceHints()
    bus, index = _position(hints)
    by_path = _BY_PATH.fullmatch(hints.device_name or "")
    if hints.wwn or hints.rotational is not None or hints.vendor or hints.model or hints.hctl:
        bus = Bus.SCSI
    if hints.hctl:
        index = int(hints.hctl.split(":")[2]) if re.fullmatch(r"\d+:\d+:\d:\d+", hints.hctl) else 0
    if hints.serial_number and len(hints.serial_number) > _LONGEST_SERIAL[bus]:
        bus = Bus.SCSI
    if by_path:
        bus = Bus.SATA
    chosen = Disk(
        name=f"disk{index}",
        size_bytes=_size(hints.min_size_gigabytes),
        bus=bus,
        serial=hints.serial_number or _serial(host, index),
        wwn=_wwn(host, hints.wwn),
        vendor=(hints.vendor or "")[:8],
        product=(hints.model or "")[:16],
        rotational=hints.rotational,
        slot=by_path[1] if by_path else "",
        port=int(by_path[2]) - 1 if by_path else 0,
    )
    others = (Disk(f"disk{at}", DEFAULT_GIB * GIB, bus, _serial(host, at)) for at in range(index))
    return (*others, chosen)


def _position(hints: RootDeviceHints) -> tuple[Bus, int]:
    """The bus and place that give a disk the name which is asked for."""
    for pattern, bus in _NAMES:
        found = pattern.fullmatch(hints.device_name or "")
        if found:
            return bus, int(found[1]) if found[1].isdigit() else ord(found[1]) - ord("a")
    return Bus.VIRTIO, 0


def _size(least_gb: int | None) -> int:
    """20 GiB, or the next whole GiB above what is asked for."""
    wanted = -(-(least_gb or 0) * _GIGABYTE // GIB)
    return max(DEFAULT_GIB, wanted + 1 if wanted >= DEFAULT_GIB else 0) * GIB


def _from_file(host: str, index: int, disk: LabDisk) -> Disk:
    special = disk.wwn or disk.vendor or disk.product or disk.rotational is not None
    bus = disk.bus or (Bus.SCSI if special else Bus.VIRTIO)
    if special and bus in (Bus.VIRTIO, Bus.NVME):
        raise UserError(
            f"disk {index} of {host} has a WWN, vendor, product or kind, which a {bus} disk does not report",
            hint="leave out its bus in lab.yaml, or make it scsi",
        )
    serial = disk.serial or _serial(host, index)
    if len(serial) > _LONGEST_SERIAL[bus]:
        raise UserError(
            f"the serial number {serial} of {host} has {len(serial)} characters;"
            f" a {bus} disk reports {_LONGEST_SERIAL[bus]}",
            hint="shorten it, or give the disk another bus in lab.yaml",
        )
    return Disk(
        name=f"disk{index}",
        size_bytes=(disk.size_gib or DEFAULT_GIB) * GIB,
        bus=bus,
        serial=serial,
        wwn=_wwn(host, disk.wwn),
        vendor=(disk.vendor or "")[:8],
        product=(disk.product or "")[:16],
        rotational=disk.rotational,
        port=index if bus is Bus.SATA else 0,
    )


def _wwn(host: str, text: str | None) -> str:
    if not text:
        return ""
    digits = text.lower().removeprefix("naa.").removeprefix("0x")
    if not re.fullmatch(r"[0-9a-f]{1,16}", digits):
        raise UserError(
            f"the lab cannot make a disk with the WWN {text} for {host}",
            hint="a WWN is up to 16 hexadecimal digits, such as 0x5002538e40a2b3c4",
        )
    return f"0x{digits}"


def _serial(host: str, index: int) -> str:
    return f"LAB{hashlib.sha256(f'{host}/{index}'.encode()).hexdigest()[:13].upper()}"
