# SPDX-License-Identifier: Apache-2.0
"""The host's own interfaces, as far as others are asked for through them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import (
    IPv4Address,
    IPv4Interface,
    IPv4Network,
    IPv6Address,
    IPv6Interface,
    IPv6Network,
    ip_address,
    ip_interface,
    ip_network,
)
from typing import Final, TypeAlias

import msgspec

from muster.frozen import dataclass
from muster.machine import Machine

Address: TypeAlias = IPv4Address | IPv6Address
Interface: TypeAlias = IPv4Interface | IPv6Interface
Network: TypeAlias = IPv4Network | IPv6Network
_KINDS: Final = frozenset({"", "bond", "vlan", "veth"})
"""Cards have no kind; veth is the card of a host that is itself a container."""
_FREE: Final = frozenset({"", "vrf"})
"""A member of anything else speaks for that, and an answer to it would be another's."""
_DEADLINE_S: Final = 5.0


class NicsUnknown(Exception):
    """The interfaces cannot be listed; the text says why."""


@dataclass(frozen=True)
class Nic:
    """An interface through which others can be asked for."""

    name: str
    mac: str
    mtu: int
    addresses: tuple[Interface, ...]
    neighbourhood: tuple[Network, ...] = ()
    """Subnets on its link besides those of its addresses: DHCPv6 gives addresses without one."""

    def find_source(self, address: Address) -> Address | None:
        """Its own address that asks for another one on the same link; None if that is not on it."""
        own = [each for each in self.addresses if each.version == address.version]
        for each in own:
            if address in each.network:
                return each.ip
        if own and any(address in network for network in self.neighbourhood):
            return own[0].ip
        return None


class _Info(msgspec.Struct):
    local: str = ""
    prefixlen: int = 0
    dadfailed: bool = False


class _LinkInfo(msgspec.Struct):
    info_kind: str = ""
    info_slave_kind: str = ""


class _Link(msgspec.Struct):
    ifname: str = ""
    link_type: str = ""
    address: str = ""
    mtu: int = 0
    linkinfo: _LinkInfo = msgspec.field(default_factory=_LinkInfo)
    addr_info: tuple[_Info, ...] = ()


class _Route(msgspec.Struct):
    dst: str = ""
    dev: str = ""
    gateway: str = ""
    via: object = None
    nexthops: tuple[object, ...] = ()


def parse_nics(links: str, routes: str = "[]") -> tuple[Nic, ...]:
    """The interfaces of `ip -j -d address` that have addresses, with what `ip -j -6 route` adds to them."""
    on_link = parse_on_link(routes)
    try:
        found = msgspec.json.decode(links, type=tuple[_Link, ...])
    except msgspec.DecodeError as error:
        raise NicsUnknown(f"what ip says of interfaces cannot be read: {error}") from error
    nics = (
        Nic(each.ifname, each.address.lower(), each.mtu, addresses, on_link.get(each.ifname, ()))
        for each in found
        if each.link_type in ("ether", "infiniband")
        and each.linkinfo.info_kind in _KINDS
        and each.linkinfo.info_slave_kind in _FREE
        and (addresses := tuple(_usable(each.addr_info)))
    )
    return tuple(sorted(nics, key=lambda nic: nic.name))


def _usable(infos: Iterable[_Info]) -> Iterable[Interface]:
    for info in infos:
        try:
            interface = ip_interface(f"{info.local}/{info.prefixlen}")
        except ValueError:
            continue
        if not (info.dadfailed or interface.is_link_local or interface.is_loopback):
            yield interface


def parse_on_link(routes: str) -> Mapping[str, tuple[Network, ...]]:
    """Subnets that need no router, by interface. Without a readable answer there are none."""
    try:
        found = msgspec.json.decode(routes or "[]", type=tuple[_Route, ...])
    except msgspec.DecodeError:
        return {}
    networks: dict[str, tuple[Network, ...]] = {}
    for each in found:
        if each.gateway or each.via is not None or each.nexthops:
            continue
        try:
            network = ip_network(each.dst)
        except ValueError:
            continue  # A default, or something that leads nowhere.
        if not network.is_link_local and not network.is_multicast:
            networks[each.dev] = (*networks.get(each.dev, ()), network)
    return networks


async def load_nics(machine: Machine) -> tuple[Nic, ...]:
    """The interfaces of a machine."""
    links = await machine.ask(["ip", "-j", "-d", "address"], deadline_s=_DEADLINE_S)
    if not links.is_ok:
        raise NicsUnknown(f"cannot list interfaces: {links.trouble}")
    routes = await machine.ask(["ip", "-j", "-6", "route"], deadline_s=_DEADLINE_S)
    return parse_nics(links.out, routes.out if routes.is_ok else "[]")


def parse_address(text: str | None) -> Address | None:
    """An address that can be asked for, with or without a prefix length; None for any other text."""
    try:
        address = ip_address((text or "").partition("/")[0])
    except ValueError:
        return None
    useless = address.is_link_local or address.is_loopback or address.is_multicast or address.is_unspecified
    return None if useless else address


def find_on_link(nics: Sequence[Nic], address: Address) -> tuple[tuple[Nic, Address], ...]:
    """The interfaces on whose link an address is, each with the own address that asks for it."""
    return tuple((nic, source) for nic in nics if (source := nic.find_source(address)) is not None)
