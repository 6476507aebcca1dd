# SPDX-License-Identifier: Apache-2.0
"""Exactly what is on the disks of a plan is taken apart, in an order that works."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from muster.errors import ExternalError, UserError
from muster.node.blocks import parse_blocks
from muster.node.clean import clean_disks
from muster.node.cleaning import Disks, plan_cleaning
from muster.node.content import parse_groups
from muster.node.plan import Identity
from muster.run import Said
from tests.unit.node import machines
from tests.unit.node.machines import GB, Recorded, Row, lsblk, pvs, row
from tests.unit.service.running import finish


def commands(rows: Sequence[Row], groups: str, *ours: str) -> list[str]:
    disks = Disks(parse_blocks(lsblk(*rows)), frozenset(ours), parse_groups(groups))
    return [" ".join(command) for command in plan_cleaning(disks)]


def test_lvm_is_removed_from_the_top_and_a_disk_with_a_longer_name_is_left_alone() -> None:
    done = commands(machines.SATA_LVM, machines.SATA_GROUPS, "sda")
    assert done == [
        "dmsetup remove --retry secret",
        "vgremove --force --yes vg0",
        "wipefs --all --force /dev/sda1",
        "wipefs --all --force /dev/sda2",
        "wipefs --all --force /dev/sda",
    ]


def test_an_empty_disk_is_only_wiped() -> None:
    assert commands(machines.VIRTIO, pvs(), "vda") == ["wipefs --all --force /dev/vda"]


def test_a_group_without_active_volumes_is_removed_too() -> None:
    rows = (row("sda", "disk", GB, fstype="LVM2_member"),)
    assert commands(rows, pvs(vg0=["/dev/sda"]), "sda")[0] == "vgremove --force --yes vg0"


@pytest.mark.parametrize(
    ("volumes", "where"),
    [(["/dev/sda2", "/dev/sdaa1"], "/dev/sdaa1"), (["/dev/sda2", "[unknown]"], "a disk that is missing")],
)
def test_a_group_that_needs_another_disk_is_refused(volumes: list[str], where: str) -> None:
    with pytest.raises(UserError, match=f"volume group vg0 is also on {where}, which is not to be erased"):
        commands(machines.SATA_LVM, pvs(vg0=volumes), "sda")


def test_a_group_on_two_disks_that_are_both_erased_is_removed_once() -> None:
    done = commands(machines.SATA_LVM, pvs(vg0=["/dev/sda2", "/dev/sdaa1"]), "sda", "sdaa")
    assert done.count("vgremove --force --yes vg0") == 1
    assert "wipefs --all --force /dev/sdaa" in done


def test_the_other_half_of_a_mirror_stays_as_it_is() -> None:
    done = commands(machines.mirrored("raid1"), pvs(vg0=["/dev/md127"]), "sda")
    assert done == [
        "vgchange --activate n vg0",
        "mdadm --stop /dev/md127",
        "wipefs --all --force /dev/sda1",
        "wipefs --all --force /dev/sda",
    ]


def test_a_mirror_whose_disks_are_all_erased_goes_with_its_group() -> None:
    done = commands(machines.mirrored("raid1"), pvs(vg0=["/dev/md127"]), "sda", "sdb")
    assert done[:2] == ["vgremove --force --yes vg0", "mdadm --stop /dev/md127"]
    assert done[-1] == "wipefs --all --force /dev/sdb"


@pytest.mark.parametrize("level", ["raid0", "linear"])
def test_stripes_that_need_another_disk_are_refused(level: str) -> None:
    with pytest.raises(UserError, match=f"the {level} array /dev/md127 is also on /dev/sdb"):
        commands(machines.mirrored(level), pvs(), "sda")


def test_an_array_that_is_installed_on_is_not_stopped() -> None:
    done = commands(machines.mirrored("raid1"), pvs(vg0=["/dev/md127"]), "md127")
    assert done == ["vgremove --force --yes vg0", "wipefs --all --force /dev/md127"]


def test_partitions_of_a_multipath_device_are_wiped_while_they_can_be_reached() -> None:
    assert commands(machines.MULTIPATH, pvs(), "dm-0") == [
        "wipefs --all --force /dev/mapper/mpatha1",
        "dmsetup remove --retry mpatha1",
        "wipefs --all --force /dev/mapper/mpatha",
    ]


def test_groups_on_groups_go_from_the_top() -> None:
    top = row("vg1-top", "lvm", GB, kname="dm-2")
    crypt = row("box", "crypt", GB, top, kname="dm-1", fstype="LVM2_member")
    volume = row("vg0-low", "lvm", GB, crypt, kname="dm-0")
    rows = (row("sda", "disk", GB, volume, fstype="LVM2_member"),)
    done = commands(rows, pvs(vg0=["/dev/sda"], vg1=["/dev/mapper/box"]), "sda")
    assert done[:3] == [
        "vgremove --force --yes vg1",
        "dmsetup remove --retry box",
        "vgremove --force --yes vg0",
    ]


SDA = Identity("/dev/sda", "Z1", "0x5000c5001", 480 * GB)


def failing(root: Path, program: str, after: Sequence[Row]) -> Recorded:
    """A machine on which one program fails, and whose disks are then as given."""
    rows = list(machines.SATA_LVM)

    def answer(words: tuple[str, ...]) -> Said | str:
        if words[0] == "lsblk":
            return lsblk(*rows)
        if words[0] == "pvs":
            return machines.SATA_GROUPS
        if words[0] == "wipefs":
            rows[:] = after
        return Said(5, "", f"{words[0]}: no luck") if words[0] == program else ""

    return Recorded(root, answer)


def test_what_did_not_work_is_told(tmp_path: Path) -> None:
    free = (row("sda", "disk", 480 * GB, row("sda1", "part", GB)),)
    troubles = finish(clean_disks(failing(tmp_path, "dmsetup", free), [SDA]))
    assert troubles == ("dmsetup remove --retry secret: dmsetup: no luck",)


def test_it_stops_when_the_disk_stays_in_use(tmp_path: Path) -> None:
    with pytest.raises(ExternalError) as caught:
        finish(clean_disks(failing(tmp_path, "vgremove", machines.SATA_LVM), [SDA]))
    assert "stays in use by /dev/mapper/vg0-root" in caught.value.message
    assert "vgremove --force --yes vg0: vgremove: no luck" in caught.value.message


def test_nothing_at_all_is_done_when_something_has_to_stay(tmp_path: Path) -> None:
    spanning = pvs(vg0=["/dev/sda2", "/dev/sdaa1"])
    machine = Recorded(tmp_path, lambda words: lsblk(*machines.SATA_LVM) if words[0] == "lsblk" else spanning)
    with pytest.raises(UserError, match="vg0"):
        finish(clean_disks(machine, [SDA]))
    assert machine.changed() == []
