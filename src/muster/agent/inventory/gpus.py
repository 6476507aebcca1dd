# SPDX-License-Identifier: Apache-2.0
"""Graphics processors and other accelerators on the PCI bus."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from muster.agent.inventory.found import Found
from muster.agent.inventory.reading import list_names, read_text
from muster.machine import Machine
from muster.model.wire.inventory import Gpu, Inventory

_DEADLINE_S: Final = 15.0
_CLASSES: Final = ("0x0300", "0x0302", "0x0380", "0x1200")
"""Of displays: VGA, 3D, other; and accelerators."""
_NUMBERED: Final = re.compile(r"(.*?)(?: \[[0-9a-f]{4}\])?", re.DOTALL)
_NAMED_WORDS: Final = 4


async def collect_gpus(machine: Machine) -> Found:
    """The graphics processors of a host; their names only if a program that knows them is there."""
    gpus = read_gpus(machine.root / "sys/bus/pci/devices")
    if not gpus:
        return Found(Inventory(gpus=()))
    said = await machine.ask(["lspci", "-D", "-mm", "-nn"], deadline_s=_DEADLINE_S)
    names = parse_names(said.out) if said.is_ok else {}
    named = tuple(_named(each, names) for each in gpus)
    trouble = f"lspci does not tell the names of graphics processors: {said.trouble}"
    return Found(Inventory(gpus=named), troubles=() if said.is_ok else (trouble,))


def read_gpus(devices: Path) -> tuple[Gpu, ...]:
    """Devices of the classes that count."""
    return tuple(
        Gpu(
            address=address,
            vendor_id=read_text(devices / address / "vendor").removeprefix("0x") or None,
            device_id=read_text(devices / address / "device").removeprefix("0x") or None,
        )
        for address in list_names(devices)
        if read_text(devices / address / "class").startswith(_CLASSES)
    )


def parse_names(text: str) -> dict[str, tuple[str, str]]:
    """Vendor and name of each device, by its address, as `lspci -D -mm -nn` tells them."""
    found = {}
    for line in text.splitlines():
        try:
            words = shlex.split(line)
        except ValueError:  # A quote that does not end.
            continue
        if len(words) >= _NAMED_WORDS:
            found[words[0]] = (_plain(words[2]), _plain(words[3]))
    return found


def _plain(text: str) -> str:
    match = _NUMBERED.fullmatch(text)
    return match[1] if match else text


def _named(gpu: Gpu, names: dict[str, tuple[str, str]]) -> Gpu:
    vendor, name = names.get(gpu.address or "", ("", ""))
    return replace(gpu, vendor=vendor or None, name=name or None)
