# SPDX-License-Identifier: Apache-2.0
"""Neighbours: what is at the other ends of a host's cables, when NetworkManager listens for it."""

from __future__ import annotations

import re
from typing import Final

from muster.agent.inventory.found import Found
from muster.machine import Machine
from muster.model.wire.extras import Extras, Neighbour

_DEADLINE_S: Final = 15.0
_FIELDS: Final = "DEVICE,CHASSIS-ID,PORT-ID,PORT-DESCRIPTION,SYSTEM-NAME,IEEE-802-1-PVID"
_COUNT: Final = _FIELDS.count(",") + 1
_WORD: Final = re.compile(r"((?:[^:\\]|\\.)*):")
_ESCAPED: Final = re.compile(r"\\(.)")
_MAX_VLAN: Final = 4094


async def collect_lldp(machine: Machine) -> Found:
    """The neighbours of a host. That there is nobody to ask is no trouble: few need to know them."""
    argv = ["nmcli", "-t", "-m", "tabular", "-f", _FIELDS, "device", "lldp", "list"]
    said = await machine.ask(argv, deadline_s=_DEADLINE_S)
    return Found(extras=Extras(neighbours=parse_neighbours(said.out) if said.is_ok else None))


def parse_neighbours(text: str) -> tuple[Neighbour, ...]:
    """The neighbours in the terse output of nmcli: a line for each, with colons between fields."""
    found = []
    for line in text.splitlines():
        words = [_ESCAPED.sub(r"\1", word) for word in _WORD.findall(f"{line}:")]
        if len(words) == _COUNT and words[0]:
            device, chassis, port, description, name, vlan = words
            found.append(
                Neighbour(
                    interface=device,
                    system_name=name,
                    chassis_id=chassis,
                    port_id=port,
                    port_description=description,
                    vlan_id=_vlan(vlan),
                )
            )
    return tuple(found)


def _vlan(text: str) -> int | None:
    is_number = text.isascii() and text.isdigit() and len(text) <= 4
    return int(text) if is_number and 0 < int(text) <= _MAX_VLAN else None
