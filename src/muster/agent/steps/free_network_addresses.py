# SPDX-License-Identifier: Apache-2.0
"""Which addresses of the host's subnets nobody has."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network
from itertools import islice
from typing import Final

from muster.agent.steps.arp import Asker, Pace, find_owners, parse_mac
from muster.agent.steps.nics import Nic, NicsUnknown, load_nics
from muster.agent.steps.outcome import BadArguments, Outcome, read, reply
from muster.agent.steps.wire import RAW, Wire
from muster.frozen import dataclass
from muster.machine import Machine
from muster.model.wire.reports import FreeNetworkAddresses

MAX_FREE: Final = 8000
"""As many as are told in all; nobody needs more."""
DEADLINE_S: Final = 150.0
_CHUNK_PREFIX: Final = 22
_WITHOUT_ENDS: Final = 31
"""Subnets from this prefix length on have neither a network nor a broadcast address."""


@dataclass(frozen=True)
class Found:
    """What is free in a subnet, and what is to be told of it."""

    free: tuple[str, ...] | None
    """None if it could not be looked."""
    trouble: str = ""


async def run(
    machine: Machine, args: Sequence[str], *, wire: Wire = RAW, pace: Pace | None = None
) -> Outcome:
    """The step."""
    networks = parse_networks(read(args, tuple[str, ...]))
    try:
        nics = await load_nics(machine)
    except NicsUnknown as error:
        return Outcome(exit_code=1, error=str(error))
    scan = _Scan(wire, nics, pace or Pace(), asyncio.get_running_loop().time() + DEADLINE_S)
    rows, troubles, left = [], [], MAX_FREE
    for network in networks:
        found = await scan.look(network, left)
        if found.free is not None:
            rows.append(FreeNetworkAddresses(network=str(network), free_addresses=found.free))
            left -= len(found.free)
        if found.trouble:
            troubles.append(f"{network}: {found.trouble}")
    if not rows and troubles:
        return Outcome(exit_code=1, error="\n".join(troubles))
    return Outcome(reply(rows).output, error="\n".join(troubles))


def parse_networks(texts: Sequence[str]) -> tuple[IPv4Network, ...]:
    """Subnets, each once and in their order."""
    try:
        return tuple(sorted({IPv4Network(text) for text in texts}))
    except ValueError as error:
        raise BadArguments(f"cannot look for free addresses: {error}") from error


def split_network(network: IPv4Network) -> Iterator[IPv4Network]:
    """Parts of a subnet that are looked at one after another."""
    if network.prefixlen >= _CHUNK_PREFIX:
        return iter((network,))
    return network.subnets(new_prefix=_CHUNK_PREFIX)


def list_candidates(network: IPv4Network, part: IPv4Network) -> tuple[IPv4Address, ...]:
    """The addresses of a part that a host can have; the ends of the subnet are nobody's."""
    ends = {network.network_address, network.broadcast_address}
    if network.prefixlen >= _WITHOUT_ENDS:
        ends = set()
    return tuple(address for address in part if address not in ends)


def find_asker(nics: Sequence[Nic], network: IPv4Network) -> Asker | None:
    """The interface that is on a subnet, if there is one that speaks ARP."""
    for nic in nics:
        for each in nic.addresses:
            if isinstance(each.ip, IPv4Address) and each.network.supernet_of(network) and _is_ethernet(nic):
                return Asker(nic.name, nic.mac, each.ip)
    return None


def _is_ethernet(nic: Nic) -> bool:
    try:
        return bool(parse_mac(nic.mac))
    except ValueError:
        return False


@dataclass(frozen=True)
class _Scan:
    wire: Wire
    nics: Sequence[Nic]
    pace: Pace
    until: float

    async def look(self, network: IPv4Network, most: int) -> Found:
        """Look at one subnet part by part, until enough is free."""
        asker = find_asker(self.nics, network)
        if asker is None:
            return Found(None, "this host has no address in it")
        own = {each.ip for nic in self.nics for each in nic.addresses}
        free: list[str] = []
        for part in split_network(network):
            if len(free) >= most:
                break
            if asyncio.get_running_loop().time() > self.until:
                return Found(
                    tuple(free), f"only the part before {part} was looked at within {DEADLINE_S:g} s"
                )
            candidates = [each for each in list_candidates(network, part) if each not in own]
            try:
                owners = await find_owners(self.wire, asker, candidates, self.pace)
            except OSError as error:
                return Found(None, f"cannot ask through {asker.nic}: {error.strerror or error}")
            free += (
                str(each) for each in islice((a for a in candidates if a not in owners), most - len(free))
            )
        return Found(tuple(free))
