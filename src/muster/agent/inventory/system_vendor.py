# SPDX-License-Identifier: Apache-2.0
"""Who made a host, and whether it is a virtual machine."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from muster.agent.inventory.found import Found
from muster.agent.inventory.reading import read_text
from muster.machine import Machine
from muster.model.wire.inventory import Inventory, SystemVendor

_DEADLINE_S: Final = 15.0
_OVIRT: Final = frozenset({"oVirt", "RHV"})
_ORACLE: Final = "OracleCloud.com"


async def collect_system_vendor(machine: Machine) -> Found:
    """Who made a host."""
    said = await machine.ask(["systemd-detect-virt", "--vm"], deadline_s=_DEADLINE_S)
    word = said.out.strip()
    is_virtual = parse_virtual(word, is_ok=said.is_ok)
    vendor = read_vendor(machine.root / "sys/class/dmi/id", is_virtual)
    trouble = f"systemd-detect-virt does not tell whether the host is a virtual machine: {said.trouble}"
    return Found(Inventory(system_vendor=vendor), troubles=(trouble,) if is_virtual is None else ())


def parse_virtual(word: str, *, is_ok: bool) -> bool | None:
    """What `systemd-detect-virt --vm` means: it fails on a real machine, with the word none."""
    if word == "none":
        return False
    return True if is_ok and word else None


def read_vendor(dmi: Path, is_virtual: bool | None) -> SystemVendor:
    """What the firmware says. Two clouds say it in other places, and are known by that."""
    manufacturer = read_text(dmi / "sys_vendor")
    product = read_text(dmi / "product_name")
    if read_text(dmi / "product_family") in _OVIRT:
        product = "oVirt"
    if read_text(dmi / "chassis_asset_tag") == _ORACLE:
        manufacturer = _ORACLE
    return SystemVendor(
        manufacturer=manufacturer or None,
        product_name=product or None,
        serial_number=read_text(dmi / "product_serial") or None,
        virtual=is_virtual,
    )
