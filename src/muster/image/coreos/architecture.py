# SPDX-License-Identifier: Apache-2.0
"""Which machines a live image is for, by the first bytes of its kernel."""

from __future__ import annotations

from typing import Final

from muster.errors import MediaError
from muster.image.iso.volume import Volume

KERNEL: Final = "images/pxeboot/vmlinuz"
_HEAD: Final = 0x10010
_MARKS: Final = {"images/cdboot.img": "s390x", "isolinux/isolinux.bin": "x86_64"}
"""Files that only images of one architecture have."""
_PE_MACHINES: Final = {0x8664: "x86_64", 0xAA64: "aarch64"}
_ELF_MACHINES: Final = {21: "ppc64le", 22: "s390x", 62: "x86_64", 183: "aarch64"}


def find_architecture(volume: Volume) -> str | None:
    """The architecture of a live image, as RPM calls it; None when its kernel does not tell."""
    kernel = volume.find(KERNEL)
    found = parse_kernel(volume.read(kernel.offset, min(kernel.length, _HEAD))) if kernel else None
    return found or next((name for path, name in _MARKS.items() if volume.find(path)), None)


def parse_kernel(head: bytes) -> str | None:
    """What a kernel image is for."""
    if head[0x202:0x206] == b"HdrS":
        return "x86_64"
    if head[0x38:0x3C] == b"ARM\x64":
        return "aarch64"
    if head[0x10008:0x1000E] == b"S390EP":
        return "s390x"
    if head[:4] == b"\x7fELF":
        return _ELF_MACHINES.get(int.from_bytes(head[18:20], "little"))
    if head[:2] == b"MZ":
        at = int.from_bytes(head[0x3C:0x40], "little")
        if head[at : at + 4] == b"PE\0\0":
            return _PE_MACHINES.get(int.from_bytes(head[at + 4 : at + 6], "little"))
    return None


def check_architecture(volume: Volume, wanted: str) -> None:
    """Refuse a base image that the site's machines cannot boot."""
    found = find_architecture(volume)
    if found is not None and found != wanted:
        raise MediaError(
            f"{volume.name} is for {found}, and the hosts of the site are {wanted}",
            hint=f"name a base image for {wanted}, or correct controlPlane.architecture",
        )
