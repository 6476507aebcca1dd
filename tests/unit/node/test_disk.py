# SPDX-License-Identifier: Apache-2.0
"""Disks as they are read from lsblk, LVM and /dev/disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from muster.errors import ExternalError, UserError
from muster.node.disk import identify_again, read_disks
from muster.node.plan import DiskFacts, make_plan
from muster.run import Said
from tests.unit.node import machines
from tests.unit.node.machines import Recorded, Row, lsblk, pvs
from tests.unit.node.test_plan import request
from tests.unit.service.running import finish


def machine(root: Path, rows: Sequence[Row], groups: str | None = None) -> Recorded:
    return Recorded(root, lambda words: lsblk(*rows) if words[0] == "lsblk" else groups)


def disks(root: Path, rows: Sequence[Row], groups: str | None = None) -> dict[str, DiskFacts]:
    return {disk.path: disk for disk in finish(read_disks(machine(root, rows, groups)))}


def link(root: Path, name: str, kname: str) -> None:
    path = root / "dev/disk" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(f"../../{kname}")


def test_virtio(tmp_path: Path) -> None:
    link(tmp_path, "by-id/virtio-ROOT", "vda")
    found = disks(tmp_path, machines.VIRTIO)
    assert found["/dev/vda"].serial == "ROOT"
    assert found["/dev/vda"].by_id == "/dev/disk/by-id/virtio-ROOT"
    assert not found["/dev/vda"].is_medium
    assert found["/dev/vda"].content == ""
    assert found["/dev/sr0"].is_medium


def test_a_medium_that_is_mounted_elsewhere_is_known_by_its_label(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cmdline").write_text("quiet coreos.liveiso=muster-os ro\n")
    stick = machines.row("sdb", "disk", 10**9, fstype="iso9660", label="muster-os")
    other = machines.row("sdc", "disk", 10**9, fstype="iso9660", label="films")
    found = disks(tmp_path, (stick, other))
    assert found["/dev/sdb"].is_medium
    assert not found["/dev/sdc"].is_medium


def test_nvme(tmp_path: Path) -> None:
    link(tmp_path, "by-id/nvme-SAMSUNG_S5XX", "nvme0n1")
    link(tmp_path, "by-id/nvme-eui.0025385a11b2c3d4", "nvme0n1")
    link(tmp_path, "by-path/pci-0000:01:00.0-nvme-1", "nvme0n1")
    disk = disks(tmp_path, machines.NVME)["/dev/nvme0n1"]
    assert disk.by_id == "/dev/disk/by-id/nvme-eui.0025385a11b2c3d4"
    assert len(disk.links) == 3
    assert disk.content == "the vfat file system and the ext4 file system"


def test_sata_with_lvm_names_its_own_groups_only(tmp_path: Path) -> None:
    found = disks(tmp_path, machines.SATA_LVM, machines.SATA_GROUPS)
    assert found["/dev/sda"].content == "LVM vg0, the ext4 file system boot and the xfs file system"
    assert found["/dev/sdaa"].content == "LVM vg1"


def test_arrays_are_disks_too(tmp_path: Path) -> None:
    found = disks(tmp_path, machines.mirrored("raid1"), pvs(vg0=["/dev/md127"]))
    assert set(found) == {"/dev/sda", "/dev/sdb", "/dev/md127"}
    assert found["/dev/sda"].content == "LVM vg0 and RAID md127"
    assert found["/dev/md127"].content == "LVM vg0"


def test_multipath_is_one_disk_and_its_paths_are_none(tmp_path: Path) -> None:
    found = disks(tmp_path, machines.MULTIPATH)
    assert found["/dev/sda"].member_of == found["/dev/sdb"].member_of == "/dev/mapper/mpatha"
    assert found["/dev/mapper/mpatha"].member_of == ""
    plan = make_plan(request("/dev/mapper/mpatha"), list(found.values()), None)
    assert plan.disk.wwn == "0x6000d31"
    with pytest.raises(UserError, match="one path to the multipath device"):
        make_plan(request("/dev/sda"), list(found.values()), None)


def test_what_is_mounted_anywhere_on_a_disk_is_told(tmp_path: Path) -> None:
    inner = machines.row("vg0-root", "lvm", 10, kname="dm-0", mountpoints=["/data", None])
    rows = (machines.row("sda", "disk", 10, machines.row("sda1", "part", 10, inner)),)
    assert disks(tmp_path, rows)["/dev/sda"].mounted == ("/dev/mapper/vg0-root at /data",)


def test_disks_that_cannot_be_listed(tmp_path: Path) -> None:
    for answer in (Said(124, "", "lsblk did not end within 60 s"), "not JSON", '{"blockdevices": [{}]}'):
        with pytest.raises(ExternalError, match="lsblk"):
            finish(read_disks(Recorded(tmp_path, lambda _, answer=answer: answer)))  # type: ignore[misc]


def test_lvm_that_does_not_answer_is_no_matter_where_there_is_none(tmp_path: Path) -> None:
    assert disks(tmp_path, machines.VIRTIO, None)
    with pytest.raises(ExternalError, match="LVM does not tell"):
        disks(tmp_path, machines.SATA_LVM, None)


def test_a_disk_that_was_exchanged_is_not_written(tmp_path: Path) -> None:
    plan = make_plan(request("/dev/vda"), list(disks(tmp_path, machines.VIRTIO).values()), None)
    finish(identify_again(machine(tmp_path, machines.VIRTIO), plan))
    with pytest.raises(ExternalError, match="another disk than planned"):
        finish(
            identify_again(machine(tmp_path, (machines.row("vda", "disk", 20 * 10**9, serial="DATA"),)), plan)
        )
