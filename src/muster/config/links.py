# SPDX-License-Identifier: Apache-2.0
"""How the parts of a network refer to each other, and where a reference leads nowhere.

nmstate stops at the first such mistake and often cannot say where it is; these functions find all of
them. Rules word what they find, and the reader of networks asks them whether nmstate's own words would
only repeat that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from muster.config.networks import find_ip
from muster.config.spelling import slip_of
from muster.model.nmstate import Interface, InterfaceType, IPv4, NMState, Route
from muster.model.tree import Node, is_null
from muster.model.values import IP

CONTROLLERS: Final = (InterfaceType.BOND, InterfaceType.LINUX_BRIDGE, InterfaceType.OVS_BRIDGE)
"""Types whose ports have no addresses of their own."""
LEAST_MTU: Final = 68
LEAST_MTU_V6: Final = 1280
_SECTIONS: Final = {
    "link_aggregation": InterfaceType.BOND,
    "bond": InterfaceType.BOND,
    "vlan": InterfaceType.VLAN,
    "vrf": InterfaceType.VRF,
    "mac_vlan": InterfaceType.MAC_VLAN,
    "mac_vtap": InterfaceType.MAC_VTAP,
    "ipvlan": InterfaceType.IP_VLAN,
    "vxlan": InterfaceType.VXLAN,
    "macsec": InterfaceType.MACSEC,
    "infiniband": InterfaceType.INFINIBAND,
}


class Port(NamedTuple):
    """An interface as another one refers to it."""

    name: str
    node: Node
    controller: Interface


def wanted_routes(network: NMState) -> Iterator[Route]:
    """The routes that are not written down only to be removed."""
    for route in network.routes.config if network.routes else ():
        if route.state is None and not route.has("state"):
            yield route


def lost_next_hops(network: NMState) -> Iterator[Route]:
    """Routes through an interface that the document does not set up."""
    for route in wanted_routes(network):
        if route.next_hop_interface:
            found = network.find_interface(route.next_hop_interface)
            if found is None or not found.is_up:
                yield route


def nameless_next_hops(network: NMState) -> Iterator[Route]:
    """Routes that name no interface."""
    for route in wanted_routes(network):
        if not route.next_hop_interface and not route.route_type:
            yield route


def ports(network: NMState) -> Iterator[Port]:
    """The ports of all bonds, bridges and VRFs that are used."""
    for interface in network.interfaces:
        if interface.is_up:
            for name, node in interface.port_names():
                yield Port(name, node, interface)


def shared_ports(network: NMState) -> Iterator[tuple[Port, Port]]:
    """Ports that are taken already, with the first to take them."""
    first: dict[str, Port] = {}
    for port in ports(network):
        if port.name in first:
            yield port, first[port.name]
        first.setdefault(port.name, port)


def addressed_ports(network: NMState) -> Iterator[tuple[Interface, Node, Port]]:
    """Ports of a bond or bridge with IP switched on, and where."""
    by_name = {port.name: port for port in ports(network) if port.controller.type in CONTROLLERS}
    for interface in network.interfaces:
        port = by_name.get(interface.name or "")
        if port is None or not interface.is_up or interface.type is InterfaceType.OVS_INTERFACE:
            continue
        if interface is port.controller:
            continue
        for settings in (interface.ipv4, interface.ipv6):
            if settings is not None and settings.enabled:
                yield interface, settings.at("enabled"), port
                break


def strange_types(network: NMState) -> Iterator[Interface]:
    """Interfaces whose type is missing or unknown, which nmstate takes for Ethernet."""
    for interface in network.interfaces:
        if interface.type is None:
            yield interface


def untyped_settings(network: NMState) -> Iterator[Interface]:
    """Those among them with settings that Ethernet does not have."""
    for interface in strange_types(network):
        if any(not is_null(interface.places.get(name)) for name in ("bridge", *_SECTIONS)):
            yield interface


def meant_type(interface: Interface) -> InterfaceType | None:
    """The type that the settings of an interface belong to."""
    found = {kind for name, kind in _SECTIONS.items() if not is_null(interface.places.get(name))}
    return found.pop() if len(found) == 1 else None


def misspelt_entries(network: NMState, cards: Iterable[str]) -> dict[str, Interface]:
    """Entries that nothing refers to, by the name that the others have for them: two or more outvote one."""
    uses = Counter(list(cards))
    uses.update(port.name for port in ports(network))
    uses.update(name for interface in network.interfaces for name, _ in interface.base_names())
    uses.update(route.next_hop_interface for route in wanted_routes(network) if route.next_hop_interface)
    wanted = [name for name, count in uses.items() if count > 1 and not network.find_interface(name)]
    found: dict[str, Interface] = {}
    for interface in network.interfaces if wanted else ():
        name = interface.name or ""
        right = slip_of(name, wanted)
        if right is not None and not uses[name]:
            found.setdefault(right, interface)
    return found


def odd_name_servers(network: NMState) -> Iterator[tuple[str, Node]]:
    """Name servers that are no addresses."""
    for server, node in network.name_servers().located():
        if server_ip(server) is None:
            yield server, node


def server_ip(server: str) -> IP | None:
    """The address of a name server; a link-local one may name its interface."""
    return find_ip(server.partition("%")[0])


def repeated_interfaces(network: NMState) -> Iterator[tuple[Interface, Interface]]:
    """Interfaces that are described already, with the first description."""
    first: dict[tuple[str, bool], Interface] = {}
    for interface in network.interfaces:
        if interface.name:
            # An OVS bridge lives beside the kernel, and often has the name of its own interface.
            key = (interface.name, interface.type is InterfaceType.OVS_BRIDGE)
            before = first.setdefault(key, interface)
            if before is not interface:
                yield interface, before


def unused_addresses(network: NMState) -> Iterator[tuple[Interface, IPv4]]:
    """Settings with addresses where IP is not switched on."""
    for interface in network.interfaces:
        for settings in (interface.ipv4, interface.ipv6):
            if settings is None or not settings.address or settings.enabled or not interface.is_up:
                continue
            if settings.enabled is False or is_null(settings.places.get("enabled")):
                yield interface, settings


def small_packets(network: NMState) -> Iterator[tuple[Interface, int]]:
    """Interfaces whose packets are too small for the IP versions that they use, and the least size."""
    for interface in network.interfaces:
        if interface.mtu is not None and interface.is_up:
            uses_six = interface.ipv6 is not None and bool(interface.ipv6.enabled)
            least = LEAST_MTU_V6 if uses_six else LEAST_MTU
            if interface.mtu < least:
                yield interface, least


REPEATED: Final[tuple[tuple[str, Callable[[NMState], Iterator[object]]], ...]] = (
    (r"next hop interface \S+ not found", lost_next_hops),
    (r"empty next hop interface", nameless_next_hops),
    (r"is overbooked by two controller", shared_ports),
    (r"has multiple ports pointing to the same", shared_ports),
    (r"cannot have IP enabled as it is attached", addressed_ports),
    (r"Invalid property for ethernet interface", untyped_settings),
    (r"Invalid DNS server string", odd_name_servers),
    (r"has been marked as IPv[46] disabled", repeated_interfaces),
    (r"has been marked as IPv[46] disabled", unused_addresses),
    (r"suitable\(IP enabled\) interface for DNS server", unused_addresses),
    (r"MTU should be >=", small_packets),
)
"""What nmstate says about the same mistakes."""
