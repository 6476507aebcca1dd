# SPDX-License-Identifier: Apache-2.0
"""What efibootmgr shows."""

from __future__ import annotations

from muster.node.boot_order import parse_entries

NEW = """\
BootCurrent: 0001
Timeout: 0 seconds
BootOrder: 0003,0001,0000
Boot0000* UiApp\tFvVol(7cb8bdc9-f8eb-4f34-aaea-3ee4af6516a1)
Boot0001* UEFI QEMU DVD-ROM\tPciRoot(0x0)/Pci(0x1f,0x2)
Boot0002* Muster\tHD(2,GPT,3d20d4d0)/\\EFI\\BOOT\\BOOTX64.EFI
Boot0003* Muster\tHD(2,GPT,3d20d4d1)/\\EFI\\BOOT\\BOOTX64.EFI
Boot000A  Muster Museum\tHD(1,GPT,3d20d4d2)
"""


def test_entries_of_one_label_with_the_first_to_be_started_first() -> None:
    entries = parse_entries(NEW)
    assert entries.order == ("0003", "0001", "0000")
    assert entries.of("Muster") == ("0003", "0002")
    assert entries.of("UEFI QEMU DVD-ROM") == ("0001",)


def test_older_versions_have_blanks_before_the_device() -> None:
    entries = parse_entries("BootOrder: 0004\nBoot0004* Muster HD(2,GPT,3d20d4d0,0x800)/File(\\EFI)\n")
    assert entries.of("Muster") == ("0004",)


def test_nonsense_has_no_entries() -> None:
    assert parse_entries("EFI variables are not supported on this system.\n").labels == ()
