# SPDX-License-Identifier: Apache-2.0
"""Files for network boot: kernel, initial RAM disk, root file system, and a script for iPXE."""

from __future__ import annotations

from typing import Final

from muster.errors import MediaError
from muster.frozen import dataclass
from muster.image.iso.volume import Extent, Volume

_PARTS: Final = {
    "vmlinuz": "images/pxeboot/vmlinuz",
    "initrd": "images/pxeboot/initrd.img",
    "rootfs": "images/pxeboot/rootfs.img",
}


@dataclass(frozen=True)
class BootFiles:
    """Where the parts that a firmware or boot loader fetches stand in a live image."""

    vmlinuz: Extent
    initrd: Extent
    rootfs: Extent


def find_boot_files(volume: Volume) -> BootFiles:
    """The parts of a live image that network boot needs."""
    found = {name: volume.find(path) for name, path in _PARTS.items()}
    missing = [_PARTS[name] for name, extent in found.items() if extent is None]
    if missing:
        raise MediaError(
            f"{volume.name} has no {', '.join(missing)}",
            hint="use a full live ISO as base image; a minimal one has no root file system",
        )
    return BootFiles(**{name: extent for name, extent in found.items() if extent is not None})


def render_ipxe(base_url: str, prefix: str, kargs: str) -> str:
    """The script that iPXE boots with."""
    at = f"{base_url.rstrip('/')}/{prefix}"
    return render_ipxe_boot(f"{at}-vmlinuz", f"{at}-initrd.img", kargs)


def render_ipxe_boot(kernel_url: str, initrd_url: str, kargs: str) -> str:
    """The script that iPXE boots with, by the addresses of what it fetches."""
    fetch = f"initrd --name initrd {initrd_url}\nkernel {kernel_url} initrd=initrd {kargs}"
    return f"#!ipxe\n{fetch}\nboot\n"
