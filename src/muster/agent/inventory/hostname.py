# SPDX-License-Identifier: Apache-2.0
"""The name of a host; one that nobody named is called by the address of its card."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from muster.agent.inventory.found import CannotTell, Found
from muster.agent.inventory.reading import read_text
from muster.machine import Machine
from muster.model.wire.inventory import Interface, Inventory

_NO_NAMES: Final = frozenset(
    {
        "",
        "(none)",
        "localhost",
        "localhost.localdomain",
        "localhost4",
        "localhost4.localdomain4",
        "localhost6",
        "localhost6.localdomain6",
    }
)
_NAMING: Final = frozenset({"physical", "vlan", "bond"})


async def collect_hostname(machine: Machine) -> Found:
    """The name that the system goes by."""
    name = read_text(machine.root / "proc/sys/kernel/hostname")
    if not name:
        raise CannotTell("the kernel does not tell the name of the host")
    return Found(Inventory(hostname=name))


def name_host(name: str | None, interfaces: Iterable[Interface]) -> str | None:
    """A name that no other host has: the host's own, or its first address that is in use, with dashes."""
    if name is not None and name.lower() not in _NO_NAMES:
        return name
    for each in sorted(interfaces, key=lambda each: each.name or ""):
        has_address = each.ipv4_addresses or each.ipv6_addresses
        if each.type in _NAMING and each.mac_address and has_address:
            return each.mac_address.lower().replace(":", "-")
    return name
