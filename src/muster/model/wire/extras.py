# SPDX-License-Identifier: Apache-2.0
"""What is known of a host besides its inventory: neighbours, how interfaces are made, what is on disks."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from muster.model.wire.struct import Wire

Health: TypeAlias = Literal["passed", "failing"]
_TB: Final = 10**12
_GB: Final = 10**9
_MB: Final = 10**6
_MEMBERS: Final = {
    "crypto_LUKS": "encrypted data",
    "linux_raid_member": "a part of a RAID array",
    "mpath_member": "a path of a multipath device",
    "zfs_member": "a part of a ZFS pool",
    "ceph_bluestore": "data of Ceph",
    "LVM2_member": "LVM",
}
"""What is on a device, when it is nothing that could be mounted."""


class Neighbour(Wire, frozen=True, kw_only=True):
    """What is at the other end of a cable, as it says itself by LLDP."""

    interface: str
    system_name: str = ""
    chassis_id: str = ""
    port_id: str = ""
    port_description: str = ""
    vlan_id: int | None = None
    """Of frames that carry none."""


class Link(Wire, frozen=True, kw_only=True):
    """An interface that is made of others, or is a part of one."""

    name: str
    kind: str
    members: tuple[str, ...] = ()
    parent: str = ""
    """What a VLAN is on."""
    vlan_id: int | None = None


class FileSystem(Wire, frozen=True, kw_only=True):
    """Something on a disk that has a format of its own."""

    path: str
    type: str = ""
    """Not known when nobody looked before it was mounted."""
    label: str = ""
    device_type: str = ""
    """What it is in: disk, part, lvm, crypt, raid1, mpath."""
    mounted_at: tuple[str, ...] = ()


class Content(Wire, frozen=True, kw_only=True):
    """What is on a disk."""

    partition_table: str = ""
    partitions: int = 0
    file_systems: tuple[FileSystem, ...] = ()
    volume_groups: tuple[str, ...] = ()


class DiskExtras(Wire, frozen=True, kw_only=True):
    """What is known of a disk besides the inventory."""

    name: str
    path: str
    serial: str = ""
    size_bytes: int = 0
    logical_block_bytes: int | None = None
    physical_block_bytes: int | None = None
    health: Health | None = None
    """What the disk says of itself."""
    content: Content | None = None
    """Not set when nobody could look."""
    holds: str = ""
    """What would be lost with it, in words."""


class Extras(Wire, frozen=True, kw_only=True):
    """What is known of a host besides its inventory."""

    neighbours: tuple[Neighbour, ...] | None = None
    links: tuple[Link, ...] | None = None
    disks: tuple[DiskExtras, ...] | None = None


def describe_content(disk: DiskExtras) -> str:
    """A disk and what would be lost with it: disk serial X, 480 GB, contains LVM vg0."""
    name = f"disk serial {disk.serial}" if disk.serial else f"disk {disk.path}"
    return f"{name}, {_render_size(disk.size_bytes)}, {words_of(disk.content)}"


def words_of(content: Content | None) -> str:
    """What is on a disk: contains LVM vg0."""
    if content is None:
        return "content unknown"
    parts = [f"LVM {name}" for name in content.volume_groups]
    for each in content.file_systems:
        is_told = each.device_type == "lvm" or (each.type == "LVM2_member" and content.volume_groups)
        if not is_told:
            parts.append(_name(each))
    if parts:
        return f"contains {', '.join(dict.fromkeys(parts))}"
    if content.partitions:
        plural = "" if content.partitions == 1 else "s"
        return f"contains {content.partitions} partition{plural} of unknown content"
    if content.partition_table:
        return "with an empty partition table"
    return "without known content"


def _name(each: FileSystem) -> str:
    if each.type in _MEMBERS:
        return _MEMBERS[each.type]
    kind = each.type or "a file system"
    return f'{kind} "{each.label}"' if each.label else kind


def _render_size(size_bytes: int) -> str:
    """As it is printed on a disk: by powers of ten."""
    if size_bytes >= _TB:
        return f"{size_bytes / _TB:.3g} TB"
    return f"{size_bytes / _GB:.0f} GB" if size_bytes >= _GB else f"{size_bytes / _MB:.0f} MB"
