# SPDX-License-Identifier: Apache-2.0
"""What disks tell of themselves, what is on them, and how that is said."""

from __future__ import annotations

import json

import pytest

from muster.agent.inventory.contents import make_content, parse_devices, parse_groups
from muster.agent.inventory.found import CannotTell
from muster.agent.inventory.probes import is_boot_sector, parse_smart, tell_health
from muster.model.wire.extras import Content, DiskExtras, FileSystem, describe_content
from tests.unit.agent.inventory.machines.kvm import KVM
from tests.unit.agent.inventory.machines.san import SAN
from tests.unit.agent.inventory.machines.server import SERVER
from tests.unit.agent.inventory.recorded import Recording


@pytest.mark.parametrize(
    ("dump", "is_bootable"), [(" 55 aa\n", True), (" aa 55\n", False), ("", False), ("garbage", False)]
)
def test_boot_sectors(dump: str, is_bootable: bool) -> None:
    assert is_boot_sector(dump) is is_bootable


@pytest.mark.parametrize(
    ("told", "smart", "health"),
    [
        ({"smart_status": {"passed": True}}, '{"smart_status":{"passed":true}}', "passed"),
        ({"smart_status": {"passed": False}}, '{"smart_status":{"passed":false}}', "failing"),
        ({"smart_status": {"passed": "?"}}, '{"smart_status":{"passed":"?"}}', None),
        ({"smart_status": 1}, "", None),
        ({"smartctl": {"exit_status": 2}}, "", None),
        ([], "", None),
    ],
)
def test_what_disks_say_of_their_health(told: object, smart: str, health: str | None) -> None:
    assert parse_smart(json.dumps(told, indent=2)) == smart
    assert tell_health(smart) == health


def test_garbage_about_health_is_nothing() -> None:
    assert parse_smart("garbage") == ""


def content_of(recording: Recording, kname: str) -> Content:
    devices, wrong = parse_devices(json.dumps(recording.answers["lsblk -J"]))
    assert not wrong
    groups = parse_groups(json.dumps(recording.answers["pvs"]))
    return make_content(next(each for each in devices if each.kname == kname), groups)


def test_content_of_a_disk_with_lvm() -> None:
    assert content_of(SAN, "sda") == Content(
        partition_table="gpt",
        partitions=1,
        volume_groups=("vg0",),
        file_systems=(
            FileSystem(path="/dev/sda1", type="LVM2_member", device_type="part"),
            FileSystem(
                path="/dev/mapper/vg0-root",
                type="xfs",
                device_type="lvm",
                mounted_at=("/var/lib/my data",),
            ),
        ),
    )


def test_what_is_mounted_is_content_even_if_nobody_knows_what_it_is() -> None:
    told = {"kname": "vda", "path": "/dev/vda", "type": "disk", "fstype": None, "mountpoints": [None, "/"]}
    devices, _ = parse_devices(json.dumps({"blockdevices": [told]}))
    assert make_content(devices[0], {}).file_systems == (
        FileSystem(path="/dev/vda", device_type="disk", mounted_at=("/",)),
    )


def described(recording: Recording, kname: str) -> str:
    disk = DiskExtras(
        name=kname,
        path=f"/dev/{kname}",
        serial="X",
        size_bytes=480_103_981_056,
        content=content_of(recording, kname),
    )
    return describe_content(disk)


@pytest.mark.parametrize(
    ("recording", "kname", "sentence"),
    [
        (SAN, "sda", "disk serial X, 480 GB, contains LVM vg0"),
        (SAN, "dm-0", "disk serial X, 480 GB, contains LVM data"),
        (SAN, "sdc", "disk serial X, 480 GB, contains LVM data, a path of a multipath device"),
        (SERVER, "nvme0n1", 'disk serial X, 480 GB, contains vfat "EFI-SYSTEM", xfs "root"'),
        (SERVER, "nvme1n1", "disk serial X, 480 GB, without known content"),
        (KVM, "vda", "disk serial X, 480 GB, with an empty partition table"),
    ],
)
def test_what_is_lost_with_a_disk(recording: Recording, kname: str, sentence: str) -> None:
    assert described(recording, kname) == sentence


@pytest.mark.parametrize(
    ("content", "size", "sentence"),
    [
        (None, 1_920_383_410_176, "disk /dev/x, 1.92 TB, content unknown"),
        (
            Content(partition_table="dos", partitions=1),
            5 * 10**8,
            "disk /dev/x, 500 MB, contains 1 partition of unknown content",
        ),
        (
            Content(partition_table="dos", partitions=3),
            10**9,
            "disk /dev/x, 1 GB, contains 3 partitions of unknown content",
        ),
        (
            Content(file_systems=(FileSystem(path="/dev/x1"),)),
            10**9,
            "disk /dev/x, 1 GB, contains a file system",
        ),
        (
            Content(file_systems=(FileSystem(path="/dev/x1", type="LVM2_member"),)),
            10**9,
            "disk /dev/x, 1 GB, contains LVM",
        ),
    ],
)
def test_what_is_lost_when_little_is_known(content: Content | None, size: int, sentence: str) -> None:
    assert describe_content(DiskExtras(name="x", path="/dev/x", size_bytes=size, content=content)) == sentence


@pytest.mark.parametrize("text", ["garbage", "[]", "{}", '{"blockdevices": 7}', "[" * 100_000])
def test_no_devices_in_garbage(text: str) -> None:
    with pytest.raises(CannotTell):
        parse_devices(text)


@pytest.mark.parametrize(
    "text", ["[]", "{}", '{"report": [1, {"pv": 7}, {"pv": [{"pv_name": 7, "vg_name": 8}]}]}']
)
def test_no_groups_in_garbage(text: str) -> None:
    assert parse_groups(text) == {}
