# SPDX-License-Identifier: Apache-2.0
"""The address of the controller that a host is managed by, as far as the host itself can ask it.

That takes the kernel's device and ipmitool. Each call can take seconds, and a controller that hangs answers
none: the first that is late is the last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Interface
from typing import Final

from muster.agent.inventory.found import Found
from muster.machine import Machine
from muster.model.wire.inventory import Inventory
from muster.run import LATE, MISSING

NO_ADDRESS: Final = "0.0.0.0"  # noqa: S104 (what is said of a host without one)
NO_V6_ADDRESS: Final = "::/0"
_DEVICES: Final = ("dev/ipmi0", "dev/ipmi/0", "dev/ipmidev/0")
_CHANNELS: Final = range(1, 13)
_DEADLINE_S: Final = 3.0
_V4: Final = re.compile(r"^IP Address\s*:\s*(\S+)\s*$", re.MULTILINE)
_FIELD: Final = re.compile(r"^\s+(Source/Type|Enabled|Address|Status):\s*(\S+)\s*$")
_DYNAMIC: Final = frozenset({"DHCPv6", "SLAAC"})


class _NoAnswer(Exception):
    """It makes no sense to ask further."""


async def collect_bmc(machine: Machine) -> Found:
    """The addresses of the controller, or those that stand for none."""
    v4, v6 = NO_ADDRESS, NO_V6_ADDRESS
    troubles: tuple[str, ...] = ()
    try:
        if any((machine.root / each).exists() for each in _DEVICES):
            v4 = await _ask_v4(machine) or v4
            v6 = await _ask_v6(machine) or v6
    except _NoAnswer as error:
        troubles = (str(error),) if str(error) else ()
    return Found(Inventory(bmc_address=v4, bmc_v6address=v6), troubles=troubles)


async def _ask_v4(machine: Machine) -> str:
    for channel in _CHANNELS:
        if address := parse_v4(await _ask(machine, "lan", "print", str(channel))):
            return address
    return ""


async def _ask_v6(machine: Machine) -> str:
    for channel in _CHANNELS:
        enabled = await _ask(machine, "lan6", "print", str(channel), "enables")
        if not enabled.strip().endswith(("both", "ipv6")):
            continue
        for kind in ("dynamic_addr", "static_addr"):
            if address := parse_v6(await _ask(machine, "lan6", "print", str(channel), kind)):
                return address
    return ""


async def _ask(machine: Machine, *words: str) -> str:
    said = await machine.ask(["ipmitool", *words], deadline_s=_DEADLINE_S)
    if said.status == MISSING:
        raise _NoAnswer
    if said.status == LATE:
        raise _NoAnswer(f"the management controller does not answer: {said.trouble}")
    return said.out if said.is_ok else ""


def parse_v4(text: str) -> str:
    """The address in `ipmitool lan print`; empty when there is none."""
    match = _V4.search(text)
    try:
        address = IPv4Address(match[1]) if match else None
    except ValueError:
        return ""
    return str(address) if address and not address.is_unspecified else ""


def parse_v6(text: str) -> str:
    """The first address in `ipmitool lan6 print` that is in use and leads somewhere; empty without one."""
    for slot in _slots(text):
        is_used = slot.get("Source/Type") in _DYNAMIC or slot.get("Enabled") == "yes"
        if not is_used or slot.get("Status") != "active":
            continue
        try:
            address = IPv6Interface(slot.get("Address", "")).ip
        except ValueError:
            continue
        if not address.is_unspecified and not address.is_link_local:
            return str(address)
    return ""


def _slots(text: str) -> Iterator[dict[str, str]]:
    slot: dict[str, str] = {}
    for line in text.splitlines():
        if match := _FIELD.match(line):
            slot[match[1]] = match[2]
        else:
            yield slot
            slot = {}
    yield slot
