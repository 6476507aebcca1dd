# SPDX-License-Identifier: Apache-2.0
"""Block devices, as the kernel's files and udev's records tell of them: no disk is touched for that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from muster.agent.inventory.reading import first, list_names, read_number, read_text
from muster.frozen import dataclass

_SECTOR: Final = 512
"""The kernel counts in these, whatever the disk does."""
_NO_DISKS: Final = ("loop", "zram", "ram", "nbd")


@dataclass(frozen=True)
class Node:
    """A disk or one of its partitions: what can be mounted, or be a part of something else."""

    name: str
    number: str
    holders: tuple[str, ...]
    labels: tuple[str, ...]
    """The label of what is on it, as udev writes it: plain, and with blanks encoded."""


@dataclass(frozen=True)
class BlockDevice:
    """A disk, or what is made of disks."""

    node: Node
    partitions: tuple[Node, ...]
    members: tuple[str, ...]
    """What it is made of."""
    size_bytes: int
    logical_block_bytes: int | None
    physical_block_bytes: int | None
    is_read_only: bool
    is_removable: bool
    is_rotational: bool
    udev: Mapping[str, str]
    sysfs: str
    """Where it is among the devices; the way to it says how it is attached."""
    model: str
    vendor: str
    serial: str
    has_uuid: bool
    """It tells a number of its own, which virtual disks do only when asked to."""
    state: str
    hctl: str
    mapping: str
    """Of the device mapper: what is named by a word before the first dash, like LVM."""
    mapped_name: str
    discipline: str
    """Of disks of mainframes."""

    @property
    def name(self) -> str:
        """The name that the kernel gave it."""
        return self.node.name

    @property
    def path(self) -> str:
        """Where it is."""
        return f"/dev/{self.node.name}"

    @property
    def nodes(self) -> tuple[Node, ...]:
        """It and its partitions."""
        return (self.node, *self.partitions)


def read_block_devices(root: Path) -> tuple[BlockDevice, ...]:
    """All block devices but those that live in memory, and paths that the kernel joins by itself."""
    block = root / "sys/block"
    return tuple(
        _read(root, block / name)
        for name in list_names(block)
        if not name.startswith(_NO_DISKS) and read_text(block / name / "hidden") != "1"
    )


def parse_udev(text: str) -> dict[str, str]:
    """The properties in one of udev's records."""
    lines = (line.removeprefix("E:").partition("=") for line in text.splitlines() if line.startswith("E:"))
    return {name: value for name, _, value in lines}


def above(device: BlockDevice, devices: Mapping[str, BlockDevice]) -> Iterator[Node]:
    """A disk, its partitions, and whatever is made of them."""
    waiting = list(device.nodes)
    seen: set[str] = set()
    while waiting:
        node = waiting.pop(0)
        if node.name in seen:
            continue
        seen.add(node.name)
        yield node
        for holder in node.holders:
            if holder in devices:
                waiting.extend(devices[holder].nodes)


def _read(root: Path, sysfs: Path) -> BlockDevice:
    device = sysfs / "device"
    udev = _read_udev(root, sysfs)
    return BlockDevice(
        node=_read_node(root, sysfs),
        partitions=tuple(_read_node(root, each) for each in _partitions(sysfs)),
        members=list_names(sysfs / "slaves"),
        size_bytes=(read_number(sysfs / "size") or 0) * _SECTOR,
        logical_block_bytes=read_number(sysfs / "queue/logical_block_size"),
        physical_block_bytes=read_number(sysfs / "queue/physical_block_size"),
        is_read_only=read_text(sysfs / "ro") == "1",
        is_removable=read_text(sysfs / "removable") == "1",
        is_rotational=read_text(sysfs / "queue/rotational") != "0",
        udev=udev,
        sysfs=str(sysfs.resolve()),
        model=udev.get("ID_MODEL") or read_text(device / "model"),
        vendor=read_text(device / "vendor"),
        serial=_serial(udev, sysfs),
        has_uuid=any(read_text(each / name) for each in (sysfs, device) for name in ("wwid", "serial")),
        state=read_text(device / "state"),
        hctl=first(list_names(device / "scsi_device")),
        mapping=read_text(sysfs / "dm/uuid").partition("-")[0],
        mapped_name=read_text(sysfs / "dm/name"),
        discipline=_discipline(device),
    )


def _read_udev(root: Path, sysfs: Path) -> dict[str, str]:
    return parse_udev(read_text(root / "run/udev/data" / f"b{read_text(sysfs / 'dev')}"))


def _read_node(root: Path, sysfs: Path) -> Node:
    udev = _read_udev(root, sysfs)
    labels = (udev.get("ID_FS_LABEL"), udev.get("ID_FS_LABEL_ENC"))
    return Node(
        name=sysfs.name,
        number=read_text(sysfs / "dev"),
        holders=list_names(sysfs / "holders"),
        labels=tuple(each for each in labels if each),
    )


def _partitions(sysfs: Path) -> Iterator[Path]:
    return (sysfs / name for name in list_names(sysfs) if (sysfs / name / "partition").exists())


def _serial(udev: Mapping[str, str], sysfs: Path) -> str:
    names = ("SCSI_IDENT_SERIAL", "ID_SCSI_SERIAL", "ID_SERIAL_SHORT", "ID_SERIAL", "DM_SERIAL")
    told = first(udev.get(name) for name in names)
    return told or first(read_text(each / "serial") for each in (sysfs, sysfs / "device"))


def _discipline(device: Path) -> str:
    word = read_text(device / "discipline")
    return "ECKD (ESE)" if word == "ECKD" and read_text(device / "ese") == "1" else word
