# SPDX-License-Identifier: Apache-2.0
"""Network interfaces with their addresses, and which of them are made of others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import IPv6Interface, IPv6Network, ip_interface
from pathlib import Path
from typing import Final

from muster.agent.inventory.found import CannotTell, Found
from muster.agent.inventory.ip import LinkRecord, RouteRecord, ask_links, ask_routes
from muster.agent.inventory.reading import read_number, read_text
from muster.machine import Machine
from muster.model.wire.extras import Extras, Link
from muster.model.wire.inventory import Interface, Inventory

PHYSICAL: Final = "physical"
_OTHER: Final = "virtual"
"""One that the kernel has no word for; without a type it would be taken for a card."""
_FLAGS: Final = {
    "UP": "up",
    "BROADCAST": "broadcast",
    "LOOPBACK": "loopback",
    "POINTOPOINT": "pointtopoint",
    "MULTICAST": "multicast",
}
_HOST_BITS: Final = 128


async def collect_interfaces(machine: Machine) -> Found:
    """The interfaces of a host, without the one that leads back to itself."""
    links, troubles = await ask_links(machine)
    links = [each for each in links if each.link_type != "loopback"]
    try:
        routes, wrong = await ask_routes(machine, "-6")
    except CannotTell as error:
        routes, wrong = [], (str(error),)
    cards = machine.root / "sys/class/net"
    interfaces = tuple(make_interface(each, routes, cards / each.ifname) for each in links)
    return Found(
        Inventory(interfaces=interfaces),
        Extras(links=tuple(tell_links(links))),
        troubles=(*troubles, *wrong),
    )


def make_interface(link: LinkRecord, routes: Iterable[RouteRecord], card: Path) -> Interface:
    """An interface, as `ip` and the kernel's files know it."""
    v4, v6 = _addresses(link, [each for each in routes if each.dev == link.ifname])
    return Interface(
        name=link.ifname,
        mac_address=link.permanent_address.lower() or None,
        type=PHYSICAL if is_physical(card) else link.linkinfo.info_kind or _OTHER,
        mtu=link.mtu,
        flags=tuple(word for flag, word in _FLAGS.items() if flag in link.flags),
        ipv4_addresses=v4,
        ipv6_addresses=v6,
        has_carrier=_has_carrier(link, card),
        speed_mbps=read_number(card / "speed"),
        vendor=read_text(card / "device/vendor") or None,
        product=read_text(card / "device/device") or None,
    )


def is_physical(card: Path) -> bool:
    """Whether an interface is a card: the kernel keeps those that are none below a folder of their own."""
    try:
        return "virtual" not in card.readlink().parts
    except (OSError, ValueError):
        return False


def tell_links(links: Sequence[LinkRecord]) -> Iterable[Link]:
    """Interfaces that are made of others, with what they are made of."""
    for each in links:
        vlan_id = each.linkinfo.info_data.get("id") if each.linkinfo.info_kind == "vlan" else None
        members = tuple(other.ifname for other in links if other.master == each.ifname)
        if members or vlan_id is not None:
            yield Link(
                name=each.ifname,
                kind=each.linkinfo.info_kind,
                members=members,
                parent=each.link or "",
                vlan_id=vlan_id if isinstance(vlan_id, int) else None,
            )


def repair_prefix(address: IPv6Interface, routes: Iterable[RouteRecord]) -> IPv6Interface:
    """An address that came without its subnet, with that of the narrowest route to its neighbours."""
    if address.network.prefixlen != _HOST_BITS:
        return address
    networks = [_network(each.dst) for each in routes if not each.gateway and not each.via]
    around = [each for each in networks if each and each.prefixlen < _HOST_BITS and address.ip in each]
    narrowest = max(around, key=lambda each: each.prefixlen, default=None)
    return IPv6Interface(f"{address.ip}/{narrowest.prefixlen}") if narrowest else address


def _network(text: str) -> IPv6Network | None:
    try:
        return IPv6Network(text)
    except ValueError:  # The default route, or nonsense.
        return None


def _addresses(link: LinkRecord, routes: Sequence[RouteRecord]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    v4, v6 = [], []
    for each in link.addr_info:
        try:
            address = ip_interface(f"{each.local}/{each.prefixlen}")
        except ValueError:
            continue
        if address.is_link_local:
            continue
        if isinstance(address, IPv6Interface):
            v6.append(str(repair_prefix(address, routes)))
        else:
            v4.append(str(address))
    return tuple(v4), tuple(v6)


def _has_carrier(link: LinkRecord, card: Path) -> bool:
    told = read_text(card / "carrier")
    return told == "1" if told else "LOWER_UP" in link.flags
