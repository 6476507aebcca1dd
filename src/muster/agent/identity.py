# SPDX-License-Identifier: Apache-2.0
"""Who a machine is: an id that it has at every start, and whatever is started on it."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Final

from muster.agent.inventory.interfaces import is_physical
from muster.agent.inventory.reading import list_names, read_text
from muster.errors import ExternalError
from muster.frozen import dataclass
from muster.machine import Machine

_NO_SERIALS: Final = frozenset(
    {
        "",
        "unknown",
        "none",
        "(none)",
        "-",
        "unspecified base board serial number",
        "unspecified system serial number",
        "default string",
        "not specified",
        "pca_number.acc",
        "to be filled by o.e.m.",
    }
)
"""What firmware says instead of a serial number, in small letters."""
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NO_UUIDS: Final = frozenset(
    {
        "00000000-0000-0000-0000-000000000000",
        "03000200-0400-0500-0006-000700080009",
        "ffffffff-ffff-ffff-ffff-ffffffffffff",
    }
)
"""What more than one machine has."""
_MAC: Final = re.compile(r"[0-9a-f]{2}(?::[0-9a-f]{2}){5,19}")


@dataclass(frozen=True)
class Identity:
    """Who a machine is, and how that is known."""

    id: str
    source: str
    """For people."""
    value: str
    """What the source says."""


def find_identity(machine: Machine) -> Identity:
    """The id of a machine: by its board, its firmware, or its cards, whichever tells one apart first."""
    dmi = machine.root / "sys/class/dmi/id"
    serial = read_text(dmi / "board_serial")
    if serial.lower() not in _NO_SERIALS:
        return Identity(_digest(serial), "serial number of the board", serial)
    uuid = read_text(dmi / "product_uuid").lower()
    if _UUID.fullmatch(uuid) and uuid not in _NO_UUIDS:
        return Identity(uuid, "UUID of the system", uuid)
    if mac := min(_addresses(machine.root / "sys/class/net"), default=""):
        return Identity(_digest(mac), "address of a network card", mac)
    raise ExternalError(
        "nothing tells this machine from others: the board has no serial number, the system has no UUID, "
        "and there is no network card",
        hint="plug in a network card that Linux knows, or set a serial number in the firmware",
    )


def _addresses(cards: Path) -> list[str]:
    """Addresses that are burnt into cards; in a bond all cards show that of one."""
    found = []
    for name in list_names(cards):
        if is_physical(cards / name):
            burnt_in = read_text(cards / name / "bonding_slave/perm_hwaddr")
            found.append((burnt_in or read_text(cards / name / "address")).lower())
    return [each for each in found if _MAC.fullmatch(each) and each.strip("0:")]


def _digest(text: str) -> str:
    """A UUID in shape only; it is the same that other agents make of the same text."""
    digits = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
