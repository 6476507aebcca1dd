# SPDX-License-Identifier: Apache-2.0
"""Addresses and subnets as hosts tell them: texts, looked at once and remembered."""

from __future__ import annotations

from bisect import bisect_right
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


@lru_cache(maxsize=256)
def subnets_around(address: str) -> tuple[str, ...]:
    """All subnets that an address can be in, the smallest first."""
    try:
        parsed = ip_address(address.split("/")[0])
    except ValueError:
        return ()
    bits = range(parsed.max_prefixlen, -1, -1)
    return tuple(str(ip_network((parsed.packed, each), strict=False)) for each in bits)


def parse_address(text: str) -> tuple[int, int]:
    """The version and the number of an address; zeros for a text that is not an address."""
    try:
        found = ip_address(text)
    except ValueError:
        return 0, 0
    return found.version, int(found)


class SubnetIndex:
    """Index of subnets: the first one that an address is in, by binary search."""

    def __init__(self, subnets: Iterable[str]) -> None:
        spans: dict[int, list[tuple[int, int, int]]] = {4: [], 6: []}
        self._subnets = tuple(subnets)
        for rank, subnet in enumerate(self._subnets):
            if (network := parse_network(subnet)) is not None:
                first, last = int(network.network_address), int(network.broadcast_address)
                spans[network.version].append((first, -last, rank))
        self._edges = {version: _edges_of(sorted(found)) for version, found in spans.items()}

    def find(self, version: int, number: int) -> str:
        """The first of the subnets that an address is in; empty when it is in none."""
        starts, ranks = self._edges.get(version, ([], []))
        at = bisect_right(starts, number) - 1
        return self._subnets[ranks[at]] if at >= 0 and ranks[at] >= 0 else ""


def _edges_of(spans: Iterable[tuple[int, int, int]]) -> tuple[list[int], list[int]]:
    """Where another subnet becomes the first one, and which that is; -1 for none.

    Subnets are apart from each other or inside each other, so those that are open are a stack.
    """
    starts: list[int] = []
    ranks: list[int] = []
    stack: list[tuple[int, int]] = []

    def close(before: int | None) -> None:
        while stack and (before is None or stack[-1][0] < before):
            last, _ = stack.pop()
            starts.append(last + 1)
            ranks.append(stack[-1][1] if stack else -1)

    for first, minus_last, rank in spans:
        close(first)
        best = min(rank, stack[-1][1]) if stack else rank
        starts.append(first)
        ranks.append(best)
        stack.append((-minus_last, best))
    close(None)
    return starts, ranks


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
