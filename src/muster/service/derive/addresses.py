# SPDX-License-Identifier: Apache-2.0
"""Addresses and subnets as hosts tell them: texts, looked at once and remembered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_interface, ip_network
from typing import Final, Literal, TypeAlias

from muster.model.wire.inventory import Interface, Inventory

Family: TypeAlias = Literal["IPv4", "IPv6"]
IPV4: Final = "IPv4"
IPV6: Final = "IPv6"


def family_of(text: str) -> Family:
    """The family of an address or a subnet."""
    return IPV6 if ":" in text else IPV4


@lru_cache(maxsize=16384)
def subnet_of(text: str) -> str:
    """The subnet of an address with its prefix length; empty for one that leads nowhere or makes no sense."""
    try:
        interface = ip_interface(text)
    except ValueError:
        return ""
    if interface.is_link_local or interface.is_loopback or interface.is_multicast:
        return ""
    return str(interface.network)


@lru_cache(maxsize=16384)
def parse_network(text: str) -> IPv4Network | IPv6Network | None:
    """A subnet, if it is one."""
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return None


@lru_cache(maxsize=16384)
def is_inside(address: str, subnet: str) -> bool:
    """Whether an address is in a subnet."""
    network = parse_network(subnet)
    try:
        return network is not None and ip_address(address.split("/")[0]) in network
    except ValueError:
        return False


def addresses_of(interface: Interface) -> Iterator[str]:
    """The addresses of an interface, with their prefix lengths."""
    yield from interface.ipv4_addresses or ()
    yield from interface.ipv6_addresses or ()


def addressed(inventory: Inventory | None) -> Iterator[tuple[Interface, str, str]]:
    """Each interface with each of its addresses, bare, and the subnet of that."""
    for interface in (inventory.interfaces if inventory is not None else None) or ():
        for text in addresses_of(interface):
            if subnet := subnet_of(text):
                yield interface, text.partition("/")[0], subnet


def sort_subnets(subnets: Iterable[str]) -> tuple[str, ...]:
    """Each of them once, IPv4 first, in the order of their addresses."""
    return tuple(sorted(set(subnets), key=_rank))


def _rank(subnet: str) -> tuple[int, int, int]:
    network = parse_network(subnet)
    if network is None:
        return (9, 0, 0)
    return (network.version, int(network.network_address), network.prefixlen)
