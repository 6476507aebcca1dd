# SPDX-License-Identifier: Apache-2.0
"""That the firmware starts the machine from the written disk. What fails here is told, and ends nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from muster.errors import ExternalError, MusterError
from muster.frozen import dataclass
from muster.machine import Machine
from muster.node.mounted import mount
from muster.node.parts import Part, WrittenDisk

LABEL: Final = "Muster"
_DEADLINE_S: Final = 30.0
_ENTRY: Final = re.compile(r"Boot(?P<number>[0-9A-F]{4})\*? (?P<label>[^\t]*)(?:\t.*)?")
_ORDER: Final = re.compile(r"BootOrder: (?P<numbers>[0-9A-F,]+)")
_LOADERS: Final = ("shimx64.efi", "shimaa64.efi", "bootx64.efi", "bootaa64.efi")
"""As lower-case names, best first; those of vendors go before the one that any firmware looks for."""


@dataclass(frozen=True)
class Entries:
    """What the firmware can start."""

    labels: tuple[tuple[str, str], ...]
    """Number and label of each entry."""
    order: tuple[str, ...]

    def of(self, label: str) -> tuple[str, ...]:
        """The numbers of the entries with a label; those that are started first come first."""
        numbers = [number for number, each in self.labels if each == label]
        return tuple(
            sorted(numbers, key=lambda n: self.order.index(n) if n in self.order else len(self.order))
        )


def parse_entries(text: str) -> Entries:
    """What ``efibootmgr`` shows, with or without the devices."""
    labels, order = [], ()
    for line in text.splitlines():
        if found := _ORDER.fullmatch(line.strip()):
            order = tuple(found["numbers"].split(","))
        elif found := _ENTRY.fullmatch(line.rstrip()):
            labels.append((found["number"], _without_device(found["label"])))
    return Entries(tuple(labels), order)


def _without_device(label: str) -> str:
    """Before its version 18, efibootmgr had blanks between label and device."""
    return re.split(r"\s{2,}|\s+(?=(?:HD|PciRoot|VenHw|FvVol|BBS)\()", label)[0].strip()


async def set_boot_order(machine: Machine, disk: WrittenDisk) -> str:
    """Make the disk the first that is started from; nothing to do without UEFI. What is wrong, or nothing."""
    if not (machine.root / "sys/firmware/efi").is_dir():
        return ""
    try:
        if disk.efi is None:
            raise ExternalError(f"the disk {disk.path} has no EFI partition")
        await _put_first(machine, disk, disk.efi)
    except MusterError as error:
        return (
            f"the firmware was not told to start from {disk.path}: {error.message}; "
            "put that disk first in the boot order of the firmware's setup, and remove the medium"
        )
    return ""


async def boot_next(machine: Machine) -> str:
    """Restart from the disk that was written before, once; why that cannot be, or nothing."""
    if not (machine.root / "sys/firmware/efi").is_dir():
        return "this firmware cannot be told from here to start from the disk"
    try:
        ours = parse_entries(await _ask(machine)).of(LABEL)
        if not ours:
            return "the firmware knows no disk that was installed"
        await _ask(machine, "--bootnext", ours[0])
    except MusterError as error:
        return f"the firmware cannot be told to start from the disk: {error.message}"
    said = await machine.ask(("systemctl", "reboot"), deadline_s=_DEADLINE_S)
    return "" if said.is_ok else f"it does not restart: {said.trouble}"


async def _put_first(machine: Machine, disk: WrittenDisk, efi: Part) -> None:
    loader = await _find_loader(machine, efi)
    where = ("--disk", disk.path, "--part", str(efi.number), "--loader", loader)
    await _ask(machine, "--create", *where, "--label", LABEL)
    entries = parse_entries(await _ask(machine))
    ours = entries.of(LABEL)
    if not ours or entries.order[:1] != ours[:1]:
        raise ExternalError("it has another boot order than it was given")
    for number in ours[1:]:
        await _ask(machine, "--bootnum", number, "--delete-bootnum")


async def _ask(machine: Machine, *arguments: str) -> str:
    said = await machine.ask(("efibootmgr", *arguments), deadline_s=_DEADLINE_S)
    if not said.is_ok:
        raise ExternalError(f"efibootmgr failed: {said.trouble}")
    return said.out


async def _find_loader(machine: Machine, efi: Part) -> str:
    async with mount(machine, efi.device, "--options", "ro") as place:
        found = sorted(_loaders(place))
    if not found:
        raise ExternalError(f"no boot loader is on {efi.device}")
    return found[0][1]


def _loaders(place: Path) -> Iterator[tuple[int, str]]:
    for path in place.glob("*/*/*"):
        folder, *_ = path.relative_to(place).parts
        if folder.upper() == "EFI" and path.name.lower() in _LOADERS:
            yield _LOADERS.index(path.name.lower()), "\\" + "\\".join(path.relative_to(place).parts)
