# SPDX-License-Identifier: Apache-2.0
"""Disks on recorded machines, without what only the disks themselves tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from muster.agent.inventory.block import read_block_devices
from muster.agent.inventory.disks import make_disk, read_names, read_surroundings
from muster.agent.inventory.drives import is_disk
from muster.agent.inventory.probes import Probe
from muster.model.wire.inventory import Disk, DiskInstallationEligibility, Iscsi
from tests.unit.agent.inventory.machines.kvm import KVM
from tests.unit.agent.inventory.machines.san import SAN
from tests.unit.agent.inventory.machines.server import SERVER
from tests.unit.agent.inventory.recorded import Recording, block, plant, udev

FINE = DiskInstallationEligibility(eligible=True)


def disks_of(root: Path, recording: Recording) -> dict[str, Disk]:
    plant(root, recording)
    devices = read_block_devices(root)
    disks = [each for each in devices if is_disk(each)]
    around, names = read_surroundings(root, devices), read_names(root, disks)
    return {each.name: make_disk(each, Probe(), names, around) for each in disks}


def reasons(disk: Disk) -> tuple[str, ...]:
    assert disk.installation_eligibility is not None
    found = disk.installation_eligibility.not_eligible_reasons or ()
    assert disk.installation_eligibility.eligible is not bool(found)
    return found


def test_a_virtio_disk(tmp_path: Path) -> None:
    disks = disks_of(tmp_path, KVM)
    assert list(disks) == ["sr0", "vda"]
    assert disks["vda"] == Disk(
        id="/dev/disk/by-path/pci-0000:04:00.0",
        name="vda",
        path="/dev/vda",
        by_path="/dev/disk/by-path/pci-0000:04:00.0",
        vendor="0x1af4",
        size_bytes=128 * 10**9,
        drive_type="HDD",
        removable=False,
        smart="",
        has_uuid=False,
        is_installation_media=False,
        installation_eligibility=FINE,
    )


def test_the_medium_is_not_installed_on(tmp_path: Path) -> None:
    disk = disks_of(tmp_path, KVM)["sr0"]
    assert (disk.drive_type, disk.removable, disk.hctl, disk.vendor, disk.model) == (
        "ODD",
        True,
        "0:0:0:0",
        "QEMU",
        "QEMU_DVD-ROM",
    )
    assert disk.is_installation_media
    assert reasons(disk) == (
        "the disk is the medium that the host was started from",
        "a disk of type ODD cannot be installed on",
    )


STICK = {
    **block("sda", "8:0", 32 * 10**9, removable="1"),
    "sys/block/sda/sda1/partition": "1",
    "sys/block/sda/sda1/dev": "8:1",
}


def test_a_medium_is_known_by_its_label_when_it_is_not_mounted(tmp_path: Path) -> None:
    files = {**STICK, **udev("8:1", ID_FS_LABEL="muster-os"), "proc/cmdline": "coreos.liveiso=muster-os"}
    disk = disks_of(tmp_path, Recording(files))["sda"]
    assert disk.is_installation_media
    assert reasons(disk) == ("the disk is the medium that the host was started from",)


def test_a_label_with_a_blank(tmp_path: Path) -> None:
    label = udev("8:1", ID_FS_LABEL="my_os", ID_FS_LABEL_ENC=r"my\x20os")
    files = {**STICK, **label, "proc/cmdline": r"coreos.liveiso=my\x20os"}
    assert disks_of(tmp_path, Recording(files))["sda"].is_installation_media


def test_a_disk_with_another_label_is_no_medium(tmp_path: Path) -> None:
    files = {**STICK, **udev("8:1", ID_FS_LABEL="data"), "proc/cmdline": "coreos.liveiso=muster-os"}
    disk = disks_of(tmp_path, Recording(files))["sda"]
    assert disk.is_installation_media is False
    assert disk.installation_eligibility == FINE


def test_nvme_disks(tmp_path: Path) -> None:
    disks = disks_of(tmp_path, SERVER)
    assert list(disks) == ["nvme0n1", "nvme1n1"]  # A path that the kernel hides is none.
    assert disks["nvme0n1"] == Disk(
        id="/dev/disk/by-id/nvme-eui.8ce38ee300000000",
        name="nvme0n1",
        path="/dev/nvme0n1",
        by_id="/dev/disk/by-id/nvme-eui.8ce38ee300000000",
        by_path="/dev/disk/by-path/pci-0000:01:00.0-nvme-1",
        model="Micron_7450_MTFDKBA480TFR",
        serial="Y3K0A000000000",
        wwn="eui.8ce38ee300000000",
        size_bytes=480_103_981_056,
        drive_type="SSD",
        removable=False,
        smart="",
        has_uuid=True,
        is_installation_media=False,
        installation_eligibility=FINE,
    )
    assert disks["nvme1n1"].id == "/dev/disk/by-path/pci-0000:02:00.0-nvme-1"


def test_a_multipath_device_and_its_paths(tmp_path: Path) -> None:
    disks = disks_of(tmp_path, SAN)
    whole, path = disks["dm-0"], disks["sdc"]
    assert (whole.drive_type, path.drive_type) == ("Multipath", "FC")
    assert whole.id == "/dev/disk/by-id/wwn-0x624a93700a1b2c3d00000001"
    assert path.id == "/dev/disk/by-path/pci-0000:af:00.0-fc-0x524a937a00000000-lun-1"
    assert (path.holders, path.hctl) == ("dm-0", "14:0:0:1")
    for disk in (whole, path):
        assert (disk.vendor, disk.model) == ("PURE", "FlashArray")
        assert disk.serial == "624A93700A1B2C3D00000001"
        assert disk.wwn == "0x624a93700a1b2c3d00000001"
        assert disk.has_uuid
        assert reasons(disk) == ()


def test_what_is_mounted_is_not_installed_on(tmp_path: Path) -> None:
    disks = disks_of(tmp_path, SAN)
    assert reasons(disks["sda"]) == ("the disk is in use: /dev/dm-1 is mounted at /var/lib/my data",)
    assert reasons(disks["sdb"]) == ("the disk is in use: /dev/sdb2 is mounted at /srv",)
    assert reasons(disks["dm-1"]) == (
        "a disk of type LVM cannot be installed on",
        "the disk is in use: /dev/dm-1 is mounted at /var/lib/my data",
    )


def test_a_disk_that_is_mounted_everywhere_names_some_places(tmp_path: Path) -> None:
    files = dict(STICK)
    lines = ""
    for number in range(1, 6):
        files[f"sys/block/sda/sda{number}/partition"] = str(number)
        files[f"sys/block/sda/sda{number}/dev"] = f"8:{number}"
        lines += f"2{number} 1 8:{number} / /m{number} rw - ext4 /dev/sda{number} rw\n"
    files["proc/self/mountinfo"] = lines
    assert reasons(disks_of(tmp_path, Recording(files))["sda"]) == (
        "the disk is in use: /dev/sda1 is mounted at /m1, /dev/sda2 is mounted at /m2, "
        "/dev/sda3 is mounted at /m3 and 2 more",
    )


def test_a_way_that_leads_to_two_disks_names_none(tmp_path: Path) -> None:
    disks = disks_of(tmp_path, SAN)
    assert disks["sda"].by_path is None
    assert disks["sda"].id == "/dev/disk/by-id/wwn-0x5002538f3300000002"
    assert disks["sdb"].id == "/dev/sdb"


def test_what_the_device_mapper_makes_is_a_disk_only_sometimes(tmp_path: Path) -> None:
    assert set(disks_of(tmp_path, SAN)) == {"sda", "sdb", "sdc", "sdd", "sde", "dm-0", "dm-1"}


def test_an_iscsi_disk(tmp_path: Path) -> None:
    disks = disks_of(tmp_path, SAN)
    disk = disks["sde"]
    assert disks["sda"].iscsi is None
    assert (disk.drive_type, disk.iscsi) == ("iSCSI", Iscsi(host_ip_address="198.51.100.10"))
    assert reasons(disk) == ("the disk can only be read",)


def test_an_iscsi_disk_that_the_firmware_does_not_know(tmp_path: Path) -> None:
    changed = {
        "sys/firmware/ibft/target0/target-name": "iqn.other\n",
        "sys/block/sde/device/state": "blocked",
    }
    assert reasons(disks_of(tmp_path, SAN.but(changed))["sde"])[1:] == (
        "the connection to the iSCSI disk is blocked",
        "the firmware does not know the iSCSI target, so the host could not start from it",
    )


@pytest.mark.parametrize(
    ("name", "more", "kind"),
    [
        ("dasda", {"device__discipline": "ECKD"}, "ECKD"),
        ("dasda", {"device__discipline": "ECKD", "device__ese": "1"}, "ECKD (ESE)"),
        ("dasda", {"device__discipline": "FBA"}, "FBA"),
        ("dasda", {}, "Unknown"),
        ("md127", {}, "RAID"),
        ("fd0", {}, "FDD"),
        ("mmcblk0", {}, "SSD"),
        ("xvda", {}, "SSD"),
        ("sda", {"queue__rotational": "1"}, "HDD"),
        ("pmem0", {}, "Unknown"),
    ],
)
def test_kinds_of_disks(tmp_path: Path, name: str, more: dict[str, str], kind: str) -> None:
    disk = disks_of(tmp_path, Recording(block(name, "99:0", 10**12, **more)))[name]
    assert disk.drive_type == kind
    assert bool(reasons(disk)) == (kind in ("FDD", "Unknown"))


def test_fibre_channel_is_known_by_the_way_to_the_disk(tmp_path: Path) -> None:
    where = "sys/devices/pci0000:00/host1/rport-1:0-0/target1:0:0/1:0:0:0/block/sda"
    files = {f"{where}/{Path(each).relative_to('sys/block/sda')}": text for each, text in STICK.items()}
    disks = disks_of(tmp_path, Recording(files, {"sys/block/sda": f"../../{where}"}))
    assert disks["sda"].drive_type == "FC"


def test_an_empty_drive(tmp_path: Path) -> None:
    disk = disks_of(tmp_path, Recording(block("sdb", "8:16", 0, removable="1")))["sdb"]
    assert reasons(disk) == ("there is no medium in the drive",)


def test_an_array_that_does_not_run_is_no_disk(tmp_path: Path) -> None:
    assert disks_of(tmp_path, Recording(block("md127", "9:127", 0))) == {}


def test_files_full_of_garbage(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {name: b"\xff\xfe\0garbage" for name in (*SAN.files, *KVM.files)}
    disks = disks_of(tmp_path, Recording(files))
    assert disks["sda"].size_bytes == 0
