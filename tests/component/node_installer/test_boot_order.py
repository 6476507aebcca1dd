# SPDX-License-Identifier: Apache-2.0
"""A firmware is told to start from the disk."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from muster.node.boot_order import set_boot_order
from muster.node.parts import Part, WrittenDisk
from muster.run import Said
from tests.unit.node.machines import Recorded

DISK = WrittenDisk("/dev/sda", Part(5, "/dev/sda5"), Part(3, "/dev/sda3"), Part(2, "/dev/sda2"))


class Firmware:
    """A machine with UEFI: boot entries, and an EFI partition with some files."""

    def __init__(self, root: Path, *files: str) -> None:
        (root / "sys/firmware/efi").mkdir(parents=True)
        self.files = files
        self.entries = {"0000": "DVD", "0001": "Muster", "0002": "Muster Museum"}
        self.order = ["0000", "0001", "0002"]
        self.obeys = True
        self.machine = Recorded(root, self.answer)

    def answer(self, words: tuple[str, ...]) -> Said | str:
        if words[0] == "mount":
            for name in self.files:
                path = Path(words[-1]) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(b"MZ")
            return ""
        if "--create" in words:
            self.entries["0007"] = words[words.index("--label") + 1]
            self.order = ["0007", *self.order] if self.obeys else [*self.order, "0007"]
        if "--delete-bootnum" in words:
            del self.entries[words[words.index("--bootnum") + 1]]
        shown = [f"Boot{number}* {label}\tHD(2)" for number, label in self.entries.items()]
        return "\n".join([f"BootOrder: {','.join(self.order)}", *shown])


def test_the_disk_comes_first_and_older_entries_of_ours_are_removed(tmp_path: Path) -> None:
    firmware = Firmware(tmp_path, "EFI/BOOT/BOOTX64.EFI")
    assert asyncio.run(set_boot_order(firmware.machine, DISK)) == ""
    assert firmware.entries == {"0000": "DVD", "0002": "Muster Museum", "0007": "Muster"}
    (create,) = (words for words in firmware.machine.asked if "--create" in words)
    assert create[2:] == (
        *("--disk", "/dev/sda", "--part", "2", "--loader", "\\EFI\\BOOT\\BOOTX64.EFI", "--label", "Muster"),
    )


def test_the_loader_of_a_vendor_is_preferred(tmp_path: Path) -> None:
    firmware = Firmware(tmp_path, "EFI/BOOT/BOOTX64.EFI", "EFI/redhat/shimx64.efi", "EFI/redhat/grubx64.efi")
    assert asyncio.run(set_boot_order(firmware.machine, DISK)) == ""
    assert any("\\EFI\\redhat\\shimx64.efi" in words for words in firmware.machine.asked)


def test_a_firmware_with_a_mind_of_its_own_is_told_of(tmp_path: Path) -> None:
    firmware = Firmware(tmp_path, "EFI/BOOT/BOOTX64.EFI")
    firmware.obeys = False
    told = asyncio.run(set_boot_order(firmware.machine, DISK))
    assert "another boot order than it was given" in told
    assert "0001" in firmware.entries


@pytest.mark.parametrize("disk", [WrittenDisk("/dev/sda", DISK.root, DISK.boot), DISK])
def test_without_an_efi_partition_or_loader_it_is_told_of(tmp_path: Path, disk: WrittenDisk) -> None:
    firmware = Firmware(tmp_path)
    told = asyncio.run(set_boot_order(firmware.machine, disk))
    assert "the firmware was not told to start from /dev/sda" in told
    assert firmware.order == ["0000", "0001", "0002"]


def test_there_is_nothing_to_do_for_a_bios(tmp_path: Path) -> None:
    machine = Recorded(tmp_path, lambda _: None)
    assert asyncio.run(set_boot_order(machine, DISK)) == ""
    assert machine.asked == []
