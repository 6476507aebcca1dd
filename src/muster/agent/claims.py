# SPDX-License-Identifier: Apache-2.0
"""Whether somebody else has an address of this host: then callers reach one of the two by chance."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address
from typing import Final

from muster.agent.inventory.reading import list_names, read_text
from muster.agent.steps.arp import Asker, Pace, find_owners
from muster.agent.steps.nics import Address, Nic, NicsUnknown, load_nics
from muster.agent.steps.probes import parse_ndisc
from muster.agent.steps.wire import RAW, Wire
from muster.machine import Machine

PACE: Final = Pace(rounds=3, wait_s=0.5)
_NOBODY: Final = IPv4Address("0.0.0.0")  # noqa: S104 - who asks so only wants to know who has an address
_DEADLINE_S: Final = 5.0


async def find_rivals(
    machine: Machine, address: Address, *, wire: Wire = RAW, pace: Pace = PACE
) -> tuple[str, ...]:
    """The MACs of others that answer for an address of this host; none when that cannot be found out."""
    try:
        nics = [nic for nic in await load_nics(machine) if any(each.ip == address for each in nic.addresses)]
    except NicsUnknown:
        return ()
    own = frozenset(_own_macs(machine))
    found: set[str] = set()
    for nic in nics:
        found.update(await _answering(machine, nic, address, (wire, pace)))
    return tuple(sorted(found - own))


async def _answering(machine: Machine, nic: Nic, address: Address, means: tuple[Wire, Pace]) -> Iterable[str]:
    wire, pace = means
    if isinstance(address, IPv4Address):
        try:
            # Asked in nobody's name: with our own address a host that has it too would not answer.
            owners = await find_owners(wire, Asker(nic.name, nic.mac, _NOBODY), [address], pace)
        except (OSError, ValueError):
            return ()
        return owners.get(address, frozenset())
    argv = ["ndisc6", "-q", "-n", "-m", "-r", "2", "-w", "500", str(address), nic.name]
    return parse_ndisc((await machine.ask(argv, deadline_s=_DEADLINE_S)).out)


def _own_macs(machine: Machine) -> Iterable[str]:
    """Of all cards: each of them may answer for an address of another one on the same link."""
    cards = machine.root / "sys/class/net"
    for name in list_names(cards):
        yield read_text(cards / name / "address").lower()
        yield read_text(cards / name / "bonding_slave/perm_hwaddr").lower()
