# SPDX-License-Identifier: Apache-2.0
"""What a BIOS finds on a disk that was not written to its end."""

from __future__ import annotations

from pathlib import Path

from muster.node.boot_code import NEXT_DEVICE, find_device, pass_on


def test_a_disk_without_boot_code_passes_on(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    table = b"\0" * 446 + b"the table of partitions".ljust(64, b"\0") + b"\x55\xaa"
    disk.write_bytes(table + b"more")
    for _ in range(2):
        pass_on(disk)
        assert disk.read_bytes() == NEXT_DEVICE + (table + b"more")[len(NEXT_DEVICE) :]


def test_boot_code_stays_as_it_is(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    written = b"\xeb\x63\x90".ljust(510, b"\0") + b"\x55\xaa"
    disk.write_bytes(written)
    pass_on(disk)
    assert disk.read_bytes() == written


def test_a_disk_that_no_bios_would_start_is_not_touched(tmp_path: Path) -> None:
    """It may hold a file system, which begins later; nobody has begun to erase it."""
    disk = tmp_path / "disk"
    written = bytes(1024) + b"a file system"
    disk.write_bytes(written)
    pass_on(disk)
    assert disk.read_bytes() == written


def test_a_disk_that_is_gone_is_the_trouble_of_who_writes_it(tmp_path: Path) -> None:
    pass_on(tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()


def test_uefi_needs_nothing_of_it(tmp_path: Path) -> None:
    assert find_device(tmp_path, "/dev/sda") == tmp_path / "dev/sda"
    (tmp_path / "sys/firmware/efi").mkdir(parents=True)
    assert find_device(tmp_path, "/dev/sda") is None
    pass_on(None)
