# SPDX-License-Identifier: Apache-2.0
"""Addresses and networks as numbers. Hosts tell the same few texts again and again: each is parsed once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from ipaddress import ip_interface
from typing import Final, NamedTuple

from muster.model.wire.inventory import Inventory

FAMILIES: Final = {4: "IPv4", 6: "IPv6"}
"""What the families are called, also where the groups of hosts that reach each other are kept."""


class Subnet(NamedTuple):
    """A network: all numbers from the first to the last."""

    version: int
    first: int
    last: int
    prefix: int
    text: str

    def holds(self, address: Address) -> bool:
        """Whether an address is in it."""
        return self.version == address.version and self.first <= address.number <= self.last

    def overlaps(self, other: Subnet) -> bool:
        """Whether they have an address in common."""
        return self.version == other.version and self.first <= other.last and other.first <= self.last


class Address(NamedTuple):
    """An address, and the network that its prefix makes."""

    version: int
    number: int
    text: str
    subnet: Subnet
    is_link_local: bool


@lru_cache(65536)
def find_address(text: str) -> Address | None:
    """An address with or without its prefix; None when it is none."""
    try:
        found = ip_interface(text)
    except ValueError:
        return None
    network = found.network
    first, last = int(network.network_address), int(network.broadcast_address)
    subnet = Subnet(found.version, first, last, network.prefixlen, str(network))
    return Address(found.version, int(found.ip), str(found.ip), subnet, found.ip.is_link_local)


def find_subnet(text: str | None) -> Subnet | None:
    """The network that a text names; None when it names none."""
    found = find_address(text) if text else None
    return found.subnet if found else None


def find_subnets(texts: Iterable[str | None]) -> tuple[Subnet, ...] | None:
    """All of them, or None when one is not a network."""
    found = [find_subnet(text) for text in texts]
    subnets = [subnet for subnet in found if subnet is not None]
    return tuple(subnets) if len(subnets) == len(found) else None


def each_address(inventory: Inventory) -> Iterator[tuple[str, Address]]:
    """The addresses of a host's interfaces, with the name of the interface."""
    for interface in inventory.interfaces or ():
        name = interface.name or "an interface"
        for text in (*(interface.ipv4_addresses or ()), *(interface.ipv6_addresses or ())):
            address = find_address(text)
            if address is not None:
                yield name, address


def leading_address(text: str) -> Address | None:
    """The address that a remark such as "192.0.2.7 did not answer ping" begins with."""
    return find_address(text.partition(" ")[0])
