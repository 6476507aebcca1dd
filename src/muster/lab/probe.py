# SPDX-License-Identifier: Apache-2.0
"""A guest of a few bytes that shows whether an accelerator accelerates.

It counts, says a letter on the serial port and ends. Counting takes a working KVM some hundredths of a second
and the emulator some tenths; a KVM that only interprets (it exists, and Linux hangs on it) takes minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from muster.frozen import dataclass

LETTER: Final = "M"
_TURNS: Final = 50_000_000


@dataclass(frozen=True)
class Probe:
    """How the guest is started on one kind of machine."""

    content: bytes
    arguments: tuple[str, ...]
    """Of QEMU; {path} is the file with the content."""


def _boot_sector() -> bytes:
    code = b"".join(
        [
            b"\x66\xb9" + _TURNS.to_bytes(4, "little"),  # mov ecx, turns
            b"\x66\x49\x75\xfc",  # loop: dec ecx; jnz loop
            b"\xba\xf8\x03\xb0" + LETTER.encode() + b"\xee",  # mov dx, 0x3f8; mov al, letter; out dx, al
            b"\xb0\xfe\xe6\x64",  # mov al, 0xfe; out 0x64, al: reset, which ends QEMU
            b"\xf4\xeb\xfd",  # stop: hlt; jmp stop
        ]
    )
    return code.ljust(510, b"\0") + b"\x55\xaa"


def _arm_image() -> bytes:
    words = [
        0xD2800002 | (_TURNS >> 16) << 5 | 1 << 21,  # movz x2, turns / 65536, lsl 16
        0xF1000442,  # loop: subs x2, x2, 1
        0x54FFFFE1,  # b.ne loop
        0xD2A12001,  # movz x1, 0x900, lsl 16: the serial port
        0x52800000 | ord(LETTER) << 5,  # movz w0, letter
        0xB9000020,  # str w0, [x1]
        0x52B08000,  # movz w0, 0x8400, lsl 16
        0x72800100,  # movk w0, 8: power off
        0xD4000002,  # hvc 0
        0x14000000,  # b .
    ]
    return b"".join(word.to_bytes(4, "little") for word in words)


PROBES: Final = {
    "x86_64": Probe(_boot_sector(), ("-machine", "pc", "-drive", "file={path},format=raw,if=ide")),
    "aarch64": Probe(_arm_image(), ("-machine", "virt", "-kernel", "{path}")),
}


def probe_argv(qemu: Sequence[str], machine: str, accel: str, path: str) -> list[str]:
    """Starts the guest; it ends by itself, or something is wrong."""
    cpu = ("-cpu", "host") if accel == "kvm" else ("-cpu", "max")
    return [
        *(*qemu, "-accel", accel, *cpu, "-m", "16", "-nodefaults", "-display", "none"),
        *("-no-reboot", "-serial", "stdio"),
        *(argument.format(path=path) for argument in PROBES[machine].arguments),
    ]
