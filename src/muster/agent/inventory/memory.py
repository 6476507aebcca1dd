# SPDX-License-Identifier: Apache-2.0
"""Memory: what is built in, as the firmware lists it, and what the running system can use."""

from __future__ import annotations

import re
from typing import Final

from muster.agent.inventory.found import CannotTell, Found
from muster.agent.inventory.reading import read_text
from muster.machine import Machine
from muster.model.wire.inventory import Inventory, Memory

_DEADLINE_S: Final = 15.0
_SIZE: Final = re.compile(r"^\s*Size:\s*(\d{1,9})\s*(bytes|[kKMGTP]i?B)\s*$", re.MULTILINE | re.ASCII)
_POWERS: Final = {"b": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_TOTAL: Final = re.compile(r"^MemTotal:\s*(\d{1,15})\s*kB", re.MULTILINE | re.ASCII)


async def collect_memory(machine: Machine) -> Found:
    """The memory of a host."""
    usable = parse_meminfo(read_text(machine.root / "proc/meminfo"))
    said = await machine.ask(["dmidecode", "-t", "17"], deadline_s=_DEADLINE_S)
    physical = parse_modules(said.out) if said.is_ok else 0
    if physical:
        found = Memory(physical_bytes=physical, usable_bytes=usable, physical_bytes_method="dmidecode")
        return Found(Inventory(memory=found))
    reason = "it lists no module" if said.is_ok else said.trouble
    trouble = f"dmidecode does not tell how much memory is built in: {reason}"
    if usable is None:
        raise CannotTell(f"{trouble}; /proc/meminfo does not tell either")
    found = Memory(physical_bytes=usable, usable_bytes=usable, physical_bytes_method="meminfo")
    return Found(Inventory(memory=found), troubles=(trouble,))


def parse_modules(text: str) -> int:
    """The bytes of all modules that `dmidecode -t 17` lists: units are powers of 1024 in either spelling."""
    return sum(int(number) * 1024 ** _POWERS[unit[0].lower()] for number, unit in _SIZE.findall(text))


def parse_meminfo(text: str) -> int | None:
    """The bytes that the kernel manages."""
    match = _TOTAL.search(text)
    return int(match[1]) * 1024 if match else None
