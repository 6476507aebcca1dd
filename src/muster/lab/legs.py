# SPDX-License-Identifier: Apache-2.0
"""Where the lab itself stands in the site's networks: an address in each, on the right VLAN."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from ipaddress import ip_address, ip_interface
from urllib.parse import urlsplit

from muster.frozen import dataclass
from muster.lab.plan import Leg
from muster.model.nmstate import Interface, NMState
from muster.model.plan import Plan
from muster.model.site import SiteHost
from muster.model.values import IP, Network


@dataclass(frozen=True)
class _Use:
    """How a host uses a machine network: through which cards, and tagged how."""

    cards: tuple[str, ...]
    vlan: int


def plan_legs(
    plan: Plan, hosts: Sequence[SiteHost], segments: dict[str, str], default: str
) -> tuple[Leg, ...]:
    """One address in each machine network; ``segments`` says into what the cards of a network are plugged."""
    return tuple(
        Leg(segment, f"{address}/{network.prefixlen}", vlan, reason)
        for network in plan.networks.machine
        for segment, vlan in [_where(network, hosts, segments, default)]
        for address, reason in [_address(network, plan, hosts)]
    )


def _where(
    network: Network, hosts: Sequence[SiteHost], segments: dict[str, str], default: str
) -> tuple[str, int]:
    for host in hosts:
        for use in _uses(host.network, network) if host.network else ():
            plugged = (
                segments[f"{host.label}/{card}"] for card in use.cards if f"{host.label}/{card}" in segments
            )
            return next(plugged, default), use.vlan
    return default, 0


def _uses(document: NMState, network: Network) -> Iterator[_Use]:
    for found in document.addresses():
        if found.ip in network:
            cards, vlan = cards_below(document, found.interface, set())
            yield _Use(tuple(cards), vlan)


def cards_below(document: NMState, interface: Interface, seen: set[str]) -> tuple[list[str], int]:
    """The cards that an interface works through, and the outermost VLAN on the way."""
    name = interface.name or ""
    if name in seen:
        return [], 0
    seen.add(name)
    names = [each for each, _ in (*interface.port_names(), *interface.base_names())]
    if not names:
        return [name], 0
    vlan = interface.vlan.id or 0 if interface.vlan else 0
    cards: list[str] = []
    for each in names:
        entry = document.find_interface(each)
        found, tag = cards_below(document, entry, seen) if entry else ([each], 0)
        cards += found
        vlan = tag or vlan
    return cards, vlan


def _address(network: Network, plan: Plan, hosts: Sequence[SiteHost]) -> tuple[IP, str]:
    taken = {ip_interface(address).ip for host in plan.hosts for address in host.addresses}
    taken |= {*plan.api_vips, *plan.ingress_vips}
    for host in hosts:
        for candidate, what in _wanted(host.network) if host.network else ():
            if candidate in network and candidate not in taken:
                return candidate, what
    last = int(network.broadcast_address) - (1 if network.version == 4 else 0)
    while (
        address := ip_address(last) if network.version == 4 else type(network.network_address)(last)
    ) in taken:
        last -= 1
    return address, "the highest free address"


def _wanted(document: NMState) -> Iterator[tuple[IP, str]]:
    for gateway in document.default_gateways():
        if gateway.address is not None:
            yield gateway.address, "the hosts' gateway"
    for server in document.name_servers():
        try:
            yield ip_address(server), "the hosts' name server"
        except ValueError:
            continue


def further_addresses(plan: Plan, hosts: Sequence[SiteHost], legs: Sequence[Leg]) -> tuple[Leg, ...]:
    """What else the hosts expect to answer in their networks: the name server beside the gateway."""
    taken = {ip_interface(address).ip for host in plan.hosts for address in host.addresses}
    taken |= {ip_interface(leg.address).ip for leg in legs} | {*plan.api_vips, *plan.ingress_vips}
    found: dict[IP, Leg] = {}
    wanted = [each for host in hosts if host.network for each in _wanted(host.network)]
    for candidate, what in (*wanted, *_boot_server(plan)):
        for leg in legs:
            network = ip_interface(leg.address).network
            if candidate in network and candidate not in taken:
                address = f"{candidate}/{network.prefixlen}"
                found.setdefault(candidate, Leg(leg.segment, address, leg.vlan, what))
    return tuple(found.values())


def _boot_server(plan: Plan) -> Iterator[tuple[IP, str]]:
    """Where machines look for their files when they boot from the network."""
    with contextlib.suppress(ValueError):
        yield ip_address(urlsplit(plan.boot_artifacts_base_url).hostname or ""), "the server of boot files"
