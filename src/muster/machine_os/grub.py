# SPDX-License-Identifier: Apache-2.0
"""GRUB for media and disks: which of its modules go where, and how BIOS machines find it."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from muster.machine_os.build import Build
from muster.machine_os.needs import closure, parse_needs

SECTOR: Final = 512
COMMANDS: Final = (
    "configfile",
    "echo",
    "halt",
    "ls",
    "normal",
    "reboot",
    "search",
    "search_label",
    "serial",
    "terminal",
    "test",
)
"""What the menus use, besides drivers of disks and file systems."""
_PLACE: Final = {"boot": 0x5C, "jump": 0x66, "rest": 500, "count": 508}
"""Where boot.img and diskboot.img keep what grub-bios-setup would write."""


def platform_folder(build: Build, platform: str) -> Path:
    """GRUB's modules for a platform."""
    return build.toolbox.path(f"usr/lib/grub/{platform}")


def make_core(build: Build, platform: str, modules: Iterable[str], *, prefix: str, early: str = "") -> bytes:
    """GRUB itself with some modules built in; ``early`` is run before it has found its folder."""
    core, script = build.work / "grub.core", build.work / "grub.early"
    script.write_text(early, "ascii")
    build.tool(
        "grub-mkimage", "-d", platform_folder(build, platform.removesuffix("-eltorito")),
        "-O", platform, "-p", prefix, "-o", core,
        *(("-c", script) if early else ()), *sorted({*COMMANDS, *modules}),
    )  # fmt: skip
    script.unlink()
    data = core.read_bytes()
    core.unlink()
    return data


def later_modules(
    build: Build, platform: str, built_in: Iterable[str], wanted: Iterable[str]
) -> dict[str, bytes]:
    """The files of modules that are loaded later, with all that they need beyond what is built in."""
    folder = platform_folder(build, platform)
    needs = parse_needs((folder / "moddep.lst").read_text("ascii"))
    names = closure(needs, wanted) - closure(needs, [*COMMANDS, *built_in])
    return {f"{name}.mod": (folder / f"{name}.mod").read_bytes() for name in sorted(names)}


def bios_code(boot: bytes, core: bytes, start: int) -> tuple[bytes, bytes]:
    """What grub-bios-setup does: the first sector's code, and GRUB as it lies at a sector of the disk.

    The table of partitions follows the code in the first sector, and stays as it is.
    """
    first, rest = bytearray(boot), bytearray(core + bytes(-len(core) % SECTOR))
    struct.pack_into("<Q", first, _PLACE["boot"], start)
    first[_PLACE["jump"] : _PLACE["jump"] + 2] = b"\x90\x90"  # Hard disks are not asked which drive they are.
    struct.pack_into("<Q", rest, _PLACE["rest"], start + 1)
    struct.pack_into("<H", rest, _PLACE["count"], len(rest) // SECTOR - 1)
    return bytes(first[:440]), bytes(rest)
