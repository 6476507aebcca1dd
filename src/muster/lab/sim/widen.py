# SPDX-License-Identifier: Apache-2.0
"""More hosts than a site's networks have room for: the networks are taken to be wider."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from ipaddress import ip_interface, ip_network
from typing import Final

import msgspec

from muster.errors import UserError
from muster.lab.plan import LabPlan
from muster.lab.sim.machines import FIRST, Machine

_SPARE: Final = 2 * FIRST
_SHORTEST: Final = 8


def wider_networks(plan: LabPlan, count: int) -> dict[str, str]:
    """The machine networks that have no room for so many hosts, each with one around it that has."""
    found = {}
    for cidr in plan.machine_networks:
        network = ip_network(cidr)
        while network.num_addresses < count + _SPARE:
            if network.prefixlen <= _SHORTEST:
                raise UserError(f"no network around {cidr} has room for {count} hosts", hint="ask for fewer")
            network = network.supernet()
        if str(network) != cidr:
            found[cidr] = str(network)
    return found


def widen_plan(plan: LabPlan, wider: Mapping[str, str]) -> LabPlan:
    """The plan with these networks in place of its own."""
    return replace(plan, machine_networks=tuple(wider.get(cidr, cidr) for cidr in plan.machine_networks))


def widen_machine(machine: Machine, wider: Mapping[str, str]) -> Machine:
    """The machine with the same addresses in wider networks."""
    if not wider:
        return machine
    cards = tuple(
        msgspec.structs.replace(
            card,
            ipv4_addresses=tuple(_widen(each, wider) for each in card.ipv4_addresses or ()),
            ipv6_addresses=tuple(_widen(each, wider) for each in card.ipv6_addresses or ()),
        )
        for card in machine.inventory.interfaces or ()
    )
    return Machine(machine.kind, msgspec.structs.replace(machine.inventory, interfaces=cards))


def _widen(address: str, wider: Mapping[str, str]) -> str:
    interface = ip_interface(address)
    network = wider.get(str(interface.network))
    return address if network is None else f"{interface.ip}/{network.partition('/')[2]}"
