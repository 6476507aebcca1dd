# SPDX-License-Identifier: Apache-2.0
"""What efibootmgr shows."""

from __future__ import annotations

from pathlib import Path

from muster.node.boot_order import boot_next, parse_entries
from muster.run import Said
from tests.unit.agent.steps.recorded import Recorded, finish, good

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


def uefi(root: Path, answers: dict[str, Said]) -> Recorded:
    (root / "sys/firmware/efi").mkdir(parents=True)
    return Recorded(answers, root)


def test_a_host_is_restarted_from_the_disk_that_was_written(tmp_path: Path) -> None:
    machine = uefi(
        tmp_path, {"efibootmgr": good(NEW), "efibootmgr --bootnext 0003": good(), "systemctl reboot": good()}
    )
    assert finish(boot_next(machine)) == ""
    assert machine.asked[-1] == "systemctl reboot"


def test_without_an_entry_of_ours_nothing_is_restarted(tmp_path: Path) -> None:
    machine = uefi(tmp_path, {"efibootmgr": good("BootOrder: 0000\nBoot0000* UiApp\n")})
    assert "knows no disk" in finish(boot_next(machine))
    assert machine.asked == ["efibootmgr"]
    old = Recorded({}, tmp_path / "bios")
    assert "cannot be told" in finish(boot_next(old))
    assert old.asked == []


def test_a_firmware_that_refuses_restarts_nothing(tmp_path: Path) -> None:
    refused = Said(5, "", "Could not set BootNext: No space left on device\n")
    machine = uefi(tmp_path, {"efibootmgr": good(NEW), "efibootmgr --bootnext 0003": refused})
    assert "No space left" in finish(boot_next(machine))
    assert "systemctl reboot" not in machine.asked
