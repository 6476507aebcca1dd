# SPDX-License-Identifier: Apache-2.0
"""Small images in the shape of the machine OS, and loop devices as disks."""

from __future__ import annotations

import os
import random
import struct
import subprocess
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import pytest

MIB = 1 << 20
SECTOR = 512
LINUX = "0fc63daf-8483-4772-8e79-3d69d8477de4"
EFI = "c12a7328-f81f-11d2-ba4b-00a0c93ec93b"
LAYOUT = (("biosboot", LINUX, 1), ("EFI", EFI, 4), ("boot", LINUX, 24), ("os", LINUX, 16), ("root", LINUX, 1))
ENTRY = "title OS\noptions ignition.platform.id=metal\nlinux /vmlinuz\ninitrd /initrd.img\n"


def offset_of(name: str) -> int:
    names = [each for each, _, _ in LAYOUT]
    return (1 + sum(size for _, _, size in LAYOUT[: names.index(name)])) * MIB


def render_gpt(size: int) -> bytes:
    """The first sectors of a disk with the partitions above."""
    entries = b""
    for number, (name, kind, mib) in enumerate(LAYOUT, start=1):
        first = offset_of(name) // SECTOR
        identity = UUID(int=number).bytes_le
        ends = struct.pack("<QQQ", first, first + mib * MIB // SECTOR - 1, 0)
        entries += UUID(kind).bytes_le + identity + ends + name.encode("utf-16-le").ljust(72, b"\0")
    entries = entries.ljust(128 * 128, b"\0")
    last = size // SECTOR - 1

    def header(checksum: int) -> bytes:
        places = struct.pack("<QQQQ", 1, last, 34, last - 33)
        start = struct.pack("<8sIIII", b"EFI PART", 0x10000, 92, checksum, 0)
        table = struct.pack("<QIII", 2, 128, 128, zlib.crc32(entries))
        return start + places + UUID(int=99).bytes_le + table

    protective = (
        bytes(446) + struct.pack("<8sII", b"\0\0\2\0\xee\xff\xff\xff", 1, last) + bytes(48) + b"\x55\xaa"
    )
    return protective + header(zlib.crc32(header(0))).ljust(SECTOR, b"\0") + entries


def make_image(folder: Path, size_mib: int = 48) -> Path:
    """An image with random content, and a boot partition that coreos-installer can work with."""
    image, boot = folder / "metal.img", folder / "boot"
    (boot / "loader/entries").mkdir(parents=True)
    (boot / "loader/entries/muster.conf").write_text(ENTRY)
    part = folder / "boot.part"
    command: list[str | Path] = ["mkfs.ext4", "-q", "-F", "-L", "boot", "-d", boot, part, "24M"]
    subprocess.run(command, check=True, capture_output=True)
    content = random.Random(7)
    with image.open("wb") as file:
        file.truncate(size_mib * MIB)
        for name in ("biosboot", "EFI", "os"):
            file.seek(offset_of(name))
            file.write(content.randbytes(MIB))
        file.seek(offset_of("boot"))
        file.write(part.read_bytes())
        file.seek(0)
        file.write(render_gpt(size_mib * MIB))
    return image


@contextmanager
def loop_device(path: Path, size_mib: int) -> Iterator[str]:
    """A file as a disk; its partitions are known after ``partx --update``."""
    with path.open("ab") as file:
        file.truncate(size_mib * MIB)
    if os.geteuid() != 0:
        pytest.skip("loop devices are for root")
    made = subprocess.run(
        ["losetup", "--partscan", "--find", "--show", path], check=False, capture_output=True, text=True
    )
    if made.returncode:
        pytest.skip(f"no loop device can be had here: {made.stderr}")
    device = made.stdout.strip()
    try:
        yield device
    finally:
        subprocess.run(["partx", "--delete", device], check=False, capture_output=True)
        subprocess.run(["losetup", "--detach", device], check=True)
