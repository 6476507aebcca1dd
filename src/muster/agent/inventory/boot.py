# SPDX-License-Identifier: Apache-2.0
"""How a host was started: by which firmware, from what, with which arguments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

from muster.agent.inventory.found import Found
from muster.agent.inventory.mounts import Mount, read_mounts
from muster.agent.inventory.reading import read_text
from muster.machine import Machine
from muster.model.wire.enums import SecureBootState
from muster.model.wire.inventory import Boot, Inventory

_SECURE_BOOT: Final = "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
_VARIABLE_BYTES: Final = 5
"""Four of attributes, one of value."""
_BOOTIF: Final = re.compile(r"(?:[0-9a-f]{2}-)?((?:[0-9a-f]{2}-){5}[0-9a-f]{2})", re.IGNORECASE)
_LIVE: Final = ("coreos.liveiso", "coreos.live.rootfs_url")
_STATE: Final = "/run/muster/state"
"""What our system writes to: memory when it is live, a partition when it is installed."""
_IN_MEMORY: Final = frozenset({"tmpfs", "ramfs", "rootfs", "squashfs", "iso9660"})


async def collect_boot(machine: Machine) -> Found:
    """How a host was started."""
    command_line = read_text(machine.root / "proc/cmdline")
    efi = machine.root / "sys/firmware/efi"
    boot = Boot(
        current_boot_mode="uefi" if efi.is_dir() else "bios",
        secure_boot_state=read_secure_boot(efi),
        command_line=command_line or None,
        pxe_interface=parse_pxe_interface(command_line),
        device_type=tell_device(command_line, read_mounts(machine.root)),
    )
    return Found(Inventory(boot=boot), troubles=() if command_line else ("/proc/cmdline cannot be read",))


def argument(command_line: str, name: str) -> str:
    """The value of a kernel argument, the last one that is given."""
    values = [word.partition("=")[2] for word in command_line.split() if word.startswith(f"{name}=")]
    return values[-1] if values else ""


def parse_pxe_interface(command_line: str) -> str | None:
    """The address of the card that the network boot came by."""
    value = argument(command_line, "BOOTIF")
    match = _BOOTIF.fullmatch(value)
    return match[1].replace("-", ":").lower() if match else value or None


def read_secure_boot(efi: Path) -> SecureBootState:
    """Whether the firmware starts only what is signed."""
    if not efi.is_dir():
        return "NotSupported"
    try:
        value = (efi / "efivars" / _SECURE_BOOT).read_bytes()
    except FileNotFoundError:
        return "NotSupported" if any((efi / "efivars").glob("Boot*")) else "Unknown"
    except OSError:
        return "Unknown"
    if len(value) != _VARIABLE_BYTES or value[-1] > 1:
        return "Unknown"
    return "Enabled" if value[-1] else "Disabled"


def tell_device(command_line: str, mounts: Sequence[Mount]) -> Literal["persistent", "ephemeral"] | None:
    """Whether what is written now is there after the next start."""
    if argument(command_line, "muster.boot"):
        return "persistent"
    if any(argument(command_line, name) for name in _LIVE):
        return "ephemeral"
    at = {each.point: each for each in mounts}
    below = at.get(_STATE) or at.get("/")
    if below is None:
        return None
    is_gone = below.type in _IN_MEMORY or below.source.startswith("/dev/loop")
    return "ephemeral" if is_gone else "persistent"
