# SPDX-License-Identifier: Apache-2.0
"""Which disk is installed on, which are not, and why."""

from __future__ import annotations

import msgspec
import pytest

from muster.model.wire.inventory import (
    Cpu,
    Disk,
    DiskInstallationEligibility,
    Inventory,
    Iscsi,
    SystemVendor,
)
from muster.service.derive.disks import derive_disks, disks_to_format, eligible_disks
from muster.service.state import AddOn, Host
from tests.unit.service.hosts import address, make_cluster, make_disk, make_host, make_inventory


def host_with(*disks: Disk, **more: object) -> Host:
    inventory = {"cpu": Cpu(count=8, architecture=str(more.pop("architecture", "x86_64")))}
    return make_host(1, inventory=make_inventory(1, disks=disks, **inventory), **more)


def reasons(host: Host, version: str = "4.18.1") -> list[str]:
    """All reasons against the first disk."""
    inventory = derive_disks(host, make_cluster(openshift_version=version))["inventory"]
    eligibility = inventory.disks[0].installation_eligibility
    assert eligibility.eligible is not bool(eligibility.not_eligible_reasons)
    return list(eligibility.not_eligible_reasons or ())


def test_a_disk_that_is_large_enough_is_fine() -> None:
    assert reasons(host_with(make_disk(size_gb=100))) == []


def test_a_small_disk_is_refused_with_both_sizes() -> None:
    assert reasons(host_with(make_disk(size_gb=99))) == [
        "the disk is too small: it has 99 GB, and 100 GB are needed"
    ]


def test_add_ons_need_room_beside_the_system() -> None:
    added = (AddOn(id="paths", disk_mib=1024), AddOn(id="gauge", ram_mib=100))
    cluster = make_cluster(openshift_version="1.36.3", add_ons=added)

    def refused(size_gb: int, role: str) -> tuple[str, ...] | None:
        found = derive_disks(host_with(make_disk(size_gb=size_gb), role=role), cluster)["inventory"]
        told: tuple[str, ...] | None = found.disks[0].installation_eligibility.not_eligible_reasons
        return told

    assert refused(12, "master") is None
    assert refused(11, "worker") == (
        "the disk is too small: it has 11 GB, and 12 GB are needed, 2 GB of them for the add-ons paths",
    )
    assert refused(10, "arbiter") is None


def test_an_arbiter_needs_less() -> None:
    assert reasons(host_with(make_disk(size_gb=50), role="arbiter")) == []


def test_a_card_that_is_a_host_needs_less_still() -> None:
    host = host_with(make_disk(size_gb=15), role="worker")
    assert host.inventory is not None
    vendor = SystemVendor(product_name="BlueField SoC")
    inventory = msgspec.structs.replace(host.inventory, system_vendor=vendor)
    assert reasons(msgspec.structs.replace(host, inventory=inventory)) == []


@pytest.mark.parametrize(
    ("kind", "version", "architecture", "is_fine"),
    [
        ("HDD", "4.12.0", "x86_64", True),
        ("RAID", "4.13.9", "x86_64", False),
        ("RAID", "4.14.0", "x86_64", True),
        ("RAID", "1.34.1", "x86_64", True),
        ("FC", "4.18.1", "aarch64", False),
        ("FC", "4.18.1", "s390x", True),
        ("FBA", "4.18.1", "s390x", True),
        ("FBA", "4.18.1", "x86_64", False),
        ("ODD", "4.18.1", "x86_64", False),
        ("LVM", "4.18.1", "x86_64", False),
        (None, "4.18.1", "x86_64", False),
    ],
)
def test_kinds_of_disks(kind: str | None, version: str, architecture: str, is_fine: bool) -> None:
    host = host_with(make_disk(drive_type=kind), architecture=architecture)
    assert (reasons(host, version) == []) is is_fine


def test_what_the_agent_says_against_a_disk_stays() -> None:
    told = DiskInstallationEligibility(not_eligible_reasons=("Disk is mounted",))
    host = host_with(make_disk(size_gb=10, installation_eligibility=told))
    first = reasons(host)
    assert first[0] == "Disk is mounted"
    assert len(first) == 2


def test_our_own_reasons_are_found_anew() -> None:
    host = host_with(make_disk(size_gb=60))
    judged = derive_disks(host, make_cluster())["inventory"]
    again = msgspec.structs.replace(host, inventory=judged, role="arbiter")
    assert reasons(again) == []


def test_the_medium_is_not_installed_on() -> None:
    assert "the medium" in reasons(host_with(make_disk(is_installation_media=True)))[0]


def test_a_path_of_a_multipath_device_is_refused() -> None:
    path = make_disk("sda", drive_type="FC", holders="dm-0")
    host = host_with(path, make_disk("dm-0", drive_type="Multipath"))
    assert reasons(host) == ["the disk is a path of multipath device dm-0: install on that"]


def test_a_multipath_device_of_two_kinds_is_refused() -> None:
    host = host_with(
        make_disk("dm-0", drive_type="Multipath"),
        make_disk("sda", drive_type="FC", holders="dm-0"),
        make_disk("sdb", drive_type="iSCSI", holders="dm-0"),
    )
    assert reasons(host) == ["the paths of the multipath device are of several kinds: FC, iSCSI"]


def test_iscsi_over_the_default_route_is_refused() -> None:
    disk = make_disk(drive_type="iSCSI", iscsi=Iscsi(host_ip_address=address(1)))
    assert reasons(host_with(disk)) == ["the disk is reached over the interface of the default route: eth0"]
    assert reasons(host_with(make_disk(drive_type="iSCSI", iscsi=Iscsi(host_ip_address="192.0.2.1")))) == []


def choice(*disks: Disk, **more: object) -> dict[str, object]:
    return derive_disks(host_with(*disks, **more), make_cluster())


@pytest.mark.parametrize(
    ("better", "worse", "why"),
    [
        (make_disk("sdb", bootable=True), make_disk("sda"), "it was bootable before"),
        (make_disk("sdb", 900), make_disk("nvme0n1", 200), "NVMe disks are left for data"),
        (make_disk("sdb", 900, drive_type="HDD"), make_disk("sda"), "HDD comes before SSD"),
        (make_disk("sdb", 200), make_disk("sda", 300), "it is the smallest"),
        (make_disk("sdb", hctl="0:0:0:1"), make_disk("sda", hctl="1:0:0:0"), "it is the first of its size"),
    ],
)
def test_the_order_of_disks_and_why(better: Disk, worse: Disk, why: str) -> None:
    found = choice(worse, better)
    assert found["installation_disk_path"] == better.path
    assert why in str(found["disk_reason"])


def test_what_was_chosen_stays_although_a_better_one_came() -> None:
    old = make_disk("sda", 500)
    found = choice(make_disk("sdb", 200), old, installation_disk_id=old.by_path, disk_reason="x")
    assert found == {
        "inventory": found["inventory"],
        "disks_to_be_formatted": (),
        "installation_disk_path": "/dev/sda",
    }


def test_a_disk_keeps_its_choice_when_it_gets_another_letter() -> None:
    moved = make_disk("sdc", by_path="/dev/disk/by-path/pci-sda")
    found = choice(moved, installation_disk_id="/dev/disk/by-path/pci-sda", disk_reason="x")
    assert found["installation_disk_path"] == "/dev/sdc"


def test_a_choice_that_is_gone_is_made_again() -> None:
    found = choice(make_disk("sdb"), installation_disk_id="/dev/disk/by-path/pci-sda", disk_reason="x")
    assert found["installation_disk_path"] == "/dev/sdb"
    assert found["disk_reason"] == "/dev/sdb is the only disk that can be installed on"


def test_a_persons_choice_is_never_replaced() -> None:
    found = choice(make_disk("sdb"), installation_disk_id="/dev/disk/by-path/pci-sda", disk_reason="given")
    assert found["installation_disk_path"] == ""
    assert "installation_disk_id" not in found


def test_no_disk_no_choice() -> None:
    assert choice()["installation_disk_path"] == ""


def test_disks_that_lose_their_boot_records() -> None:
    disks = (
        make_disk("sda", bootable=True),
        make_disk("sdb"),
        make_disk("sdc", bootable=True, removable=True),
        make_disk("mmcblk0", bootable=True),
        make_disk("sdd", bootable=True, drive_type="FC"),
        make_disk("sde", bootable=True, is_installation_media=True),
        make_disk("sdf", bootable=True, by_id="/dev/disk/by-id/wwn-1"),
    )
    assert disks_to_format(disks) == ("/dev/disk/by-path/pci-sda", "/dev/disk/by-id/wwn-1")


def test_without_disks_nothing_is_eligible() -> None:
    assert eligible_disks(Inventory()) == []
