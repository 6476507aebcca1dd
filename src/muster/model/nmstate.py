# SPDX-License-Identifier: Apache-2.0
"""The part of an NMState document that is compared with the rest of a site.

nmstate's own parser judges the document, and takes more forms of a value than Muster does elsewhere.
So nothing is judged here a second time: the classes let all other keys pass, and a value that nmstate
would refuse is None.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from ipaddress import ip_network
from typing import ClassVar, Final, NamedTuple

from muster.model.nmstate_values import BOOLEAN, INTEGER, IP_ADDRESS, MAC_ADDRESS, NETWORK, one_of
from muster.model.schema import Items, Model, many, nested, value
from muster.model.tree import Node
from muster.model.values import IP, TEXT, Network

MAIN_TABLE: Final = 254
"""The routing table that a host uses when no rule says otherwise."""


class InterfaceType(StrEnum):
    """What an interface is. nmstate takes any other word for Ethernet, silently."""

    ETHERNET = "ethernet"
    BOND = "bond"
    VLAN = "vlan"
    LINUX_BRIDGE = "linux-bridge"
    OVS_BRIDGE = "ovs-bridge"
    OVS_INTERFACE = "ovs-interface"
    MAC_VLAN = "mac-vlan"
    MAC_VTAP = "mac-vtap"
    IP_VLAN = "ipvlan"
    VRF = "vrf"
    VXLAN = "vxlan"
    VETH = "veth"
    DUMMY = "dummy"
    LOOPBACK = "loopback"
    INFINIBAND = "infiniband"
    MACSEC = "macsec"
    HSR = "hsr"
    IP_TUNNEL = "ip-tunnel"
    IPSEC = "ipsec"
    XFRM = "xfrm"
    TUN = "tun"


class InterfaceState(StrEnum):
    """Whether an interface is used."""

    UP = "up"
    DOWN = "down"
    ABSENT = "absent"
    IGNORE = "ignore"
    UNKNOWN = "unknown"


class Identifier(StrEnum):
    """By what the real card is found."""

    NAME = "name"
    MAC_ADDRESS = "mac-address"
    PCI_ADDRESS = "pci-address"


class RouteState(StrEnum):
    """That a route is not wanted."""

    ABSENT = "absent"
    IGNORE = "ignore"


class NMStatePart(Model):
    """Base of the parts of an NMState document: keys that are not described pass."""

    open: ClassVar[bool] = True


class Address(NMStatePart):
    """A static address of an interface."""

    ip: IP | None = value(IP_ADDRESS, "The address, without prefix.", example="192.0.2.10")
    prefix_length: int | None = value(
        INTEGER, "How many bits of the address name the network.", key="prefix-length", example="24"
    )

    @property
    def network(self) -> Network | None:
        """The network that the host takes to be its own; None when it is not said."""
        if self.ip is None or self.prefix_length is None:
            return None
        try:
            return ip_network(f"{self.ip}/{self.prefix_length}", strict=False)
        except ValueError:
            return None


class IPv4(NMStatePart):
    """IPv4 settings of an interface."""

    enabled: bool | None = value(
        BOOLEAN, "Whether the protocol is used; without it, addresses have no effect.", default="false"
    )
    dhcp: bool | None = value(BOOLEAN, "Get an address from a DHCP server.", default="false")
    address: Items[Address] = many(nested(Address), "Static addresses.")
    auto_dns: bool | None = value(BOOLEAN, "Use announced name servers.", key="auto-dns", default="true")
    auto_routes: bool | None = value(BOOLEAN, "Use announced routes.", key="auto-routes", default="true")
    auto_gateway: bool | None = value(
        BOOLEAN, "Use the default gateway that the network announces.", key="auto-gateway", default="true"
    )


class IPv6(IPv4):
    """IPv6 settings of an interface."""

    autoconf: bool | None = value(BOOLEAN, "Make an address from router advertisements.", default="false")


class Ports(NMStatePart):
    """Interfaces that belong together."""

    port: Items[str] = many(TEXT, "Names of the interfaces.", example="eno1")
    ports: Items[str] = many(TEXT, "Another name of port.", example="eno1")


class Bond(Ports):
    """Several cards that act as one."""

    mode: str | None = value(TEXT, "How the cards share the work.", example="active-backup")


class Vrf(Ports):
    """A group of interfaces with routes of their own."""

    route_table_id: int | None = value(INTEGER, "Its routing table.", key="route-table-id", example="100")


class BridgePort(NMStatePart):
    """An interface that is attached to a bridge."""

    name: str | None = value(TEXT, "Name of the interface.", example="eno1")


class Bridge(NMStatePart):
    """A switch within the host."""

    port: Items[BridgePort] = many(nested(BridgePort), "What is attached to the bridge.")
    ports: Items[BridgePort] = many(nested(BridgePort), "Another name of port.")


class Stacked(NMStatePart):
    """An interface that works through another one."""

    base_iface: str | None = value(TEXT, "The interface below.", key="base-iface", example="eno1")


class Vlan(Stacked):
    """A VLAN on another interface."""

    id: int | None = value(INTEGER, "Number of the VLAN.", example="100")


class Interface(NMStatePart):
    """A network interface of the host, real or made."""

    name: str | None = value(TEXT, "Name of the interface.", example="eno1")
    type: InterfaceType | None = value(
        one_of(InterfaceType), "What the interface is.", default="ethernet", example="ethernet"
    )
    state: InterfaceState | None = value(
        one_of(InterfaceState), "Whether the interface is used.", default="up", example="up"
    )
    identifier: Identifier | None = value(
        one_of(Identifier), "By what the real card is found.", default="name", example="mac-address"
    )
    mac_address: str | None = value(
        MAC_ADDRESS,
        "The card's address to find it by, else the address that the interface gets.",
        key="mac-address",
        example="52:54:00:ab:cd:ef",
    )
    pci_address: str | None = value(TEXT, "Where the card sits.", key="pci-address", example="0000:3b:00.0")
    profile_name: str | None = value(
        TEXT, "Name of the NetworkManager profile.", key="profile-name", default="the interface's name"
    )
    mtu: int | None = value(INTEGER, "Largest packet in bytes.", default="the driver's", example="9000")
    ipv4: IPv4 | None = value(nested(IPv4), "IPv4 settings.", default="IPv4 is off")
    ipv6: IPv6 | None = value(nested(IPv6), "IPv6 settings.", default="IPv6 is off")
    controller: str | None = value(TEXT, "Bond, bridge or VRF that it belongs to.", example="bond0")
    vlan: Vlan | None = value(nested(Vlan), "Settings of a VLAN.")
    link_aggregation: Bond | None = value(nested(Bond), "Settings of a bond.", key="link-aggregation")
    bond: Bond | None = value(nested(Bond), "Another name of link-aggregation.")
    bridge: Bridge | None = value(nested(Bridge), "Settings of a bridge.")
    vrf: Vrf | None = value(nested(Vrf), "Settings of a VRF.")
    mac_vlan: Stacked | None = value(nested(Stacked), "Settings of a MAC VLAN.", key="mac-vlan")
    mac_vtap: Stacked | None = value(nested(Stacked), "Settings of a MAC VTAP.", key="mac-vtap")
    ipvlan: Stacked | None = value(nested(Stacked), "Settings of an IPVLAN.")
    vxlan: Stacked | None = value(nested(Stacked), "Settings of a VXLAN tunnel.")
    macsec: Stacked | None = value(nested(Stacked), "Settings of MACsec.")
    infiniband: Stacked | None = value(nested(Stacked), "Settings of IP over InfiniBand.")

    @property
    def is_up(self) -> bool:
        """Whether the interface is used: not absent, ignored or down."""
        return self.state in (None, InterfaceState.UP)

    def port_names(self) -> Iterator[tuple[str, Node]]:
        """Names of the interfaces that a bond, bridge or VRF is made of."""
        for group in (self.link_aggregation, self.bond, self.vrf):
            if group:
                yield from group.port.located()
                yield from group.ports.located()
        if self.bridge:
            for port in (*self.bridge.port, *self.bridge.ports):
                if port.name:
                    yield port.name, port.at("name")

    def base_names(self) -> Iterator[tuple[str, Node]]:
        """Name of the interface that this one works through, if it does."""
        plain = (self.vlan, self.mac_vlan, self.mac_vtap, self.ipvlan)
        for part in (*plain, self.vxlan, self.macsec, self.infiniband):
            if part and part.base_iface:
                yield part.base_iface, part.at("base_iface")


class Route(NMStatePart):
    """A way to a network."""

    state: RouteState | None = value(
        one_of(RouteState), "Set when the route is not wanted.", example="absent"
    )
    destination: Network | None = value(NETWORK, "Network that the route leads to.", example="0.0.0.0/0")
    next_hop_address: IP | None = value(
        IP_ADDRESS, "Router that takes the packets.", key="next-hop-address", example="192.0.2.1"
    )
    next_hop_interface: str | None = value(
        TEXT, "Interface that the packets leave through.", key="next-hop-interface", example="eno1"
    )
    metric: int | None = value(INTEGER, "The lowest wins among equal routes.", example="100")
    table_id: int | None = value(INTEGER, "Routing table.", key="table-id", default="254, the main table")
    route_type: str | None = value(
        TEXT, "Drop the packets instead: blackhole, unreachable or prohibit.", key="route-type"
    )
    vrf_name: str | None = value(TEXT, "VRF that the route belongs to.", key="vrf-name", example="vrf0")

    @property
    def is_default(self) -> bool:
        """Whether the host sends all other packets here."""
        wanted = self.state is None and not self.route_type
        main = self.table_id in (None, 0, MAIN_TABLE) and not self.vrf_name
        return wanted and main and self.destination is not None and self.destination.prefixlen == 0


class Routes(NMStatePart):
    """The routes of the host."""

    config: Items[Route] = many(nested(Route), "Static routes.")


class DNSConfig(NMStatePart):
    """Name servers, and the domains that short names are looked up in."""

    server: Items[str] = many(TEXT, "Name servers; the first is asked first.", example="192.0.2.1")
    search: Items[str] = many(TEXT, "Domains to look for short names in.", example="example.com")


class DNSResolver(NMStatePart):
    """How the host resolves names."""

    config: DNSConfig | None = value(nested(DNSConfig), "Static settings.")


class HostAddress(NamedTuple):
    """A static address that a host will have."""

    interface: Interface
    ip: IP
    prefix_length: int | None
    node: Node


class Gateway(NamedTuple):
    """Where a host sends what it knows no other way for."""

    address: IP | None
    interface: str | None
    route: Route
    node: Node


class NMState(NMStatePart):
    """The static network of a host."""

    interfaces: Items[Interface] = many(nested(Interface), "The host's interfaces.")
    routes: Routes | None = value(nested(Routes), "The host's routes.")
    dns_resolver: DNSResolver | None = value(nested(DNSResolver), "Name servers.", key="dns-resolver")

    def addresses(self) -> Iterator[HostAddress]:
        """The static addresses that the host will have, with the place of each.

        nmstate leaves out link-local IPv6 addresses: every host makes them by itself.
        """
        for interface, entry in self.address_entries():
            if entry.ip is not None and not (entry.ip.version == 6 and entry.ip.is_link_local):
                yield HostAddress(interface, entry.ip, entry.prefix_length, entry.at("ip"))

    def address_entries(self) -> Iterator[tuple[Interface, Address]]:
        """The entries of all addresses that are switched on, each with its interface."""
        for interface in self.interfaces:
            for settings in (interface.ipv4, interface.ipv6):
                if interface.is_up and settings is not None and settings.enabled:
                    yield from ((interface, entry) for entry in settings.address)

    def name_servers(self) -> Items[str]:
        """The name servers, each with its place."""
        config = self.dns_resolver.config if self.dns_resolver else None
        return config.server if config else Items()

    def interface_names(self) -> tuple[str, ...]:
        """Names of the interfaces that have an entry of their own, in the order of the document."""
        return tuple(interface.name for interface in self.interfaces if interface.name)

    def mentioned_names(self) -> tuple[str, ...]:
        """Those names, and the ones that only a bond, bridge, VRF, VLAN or the like refers to."""
        mentioned = dict.fromkeys(self.interface_names())
        for interface in self.interfaces:
            mentioned.update(dict.fromkeys(name for name, _ in interface.port_names()))
            mentioned.update(dict.fromkeys(name for name, _ in interface.base_names()))
        return tuple(mentioned)

    def find_interface(self, name: str) -> Interface | None:
        """The interface that routes mean by a name: its own, else that of its profile."""
        for interface in self.interfaces:
            if interface.name == name:
                return interface
        return next((interface for interface in self.interfaces if interface.profile_name == name), None)

    def default_gateways(self) -> Iterator[Gateway]:
        """The next hops of the main table's default routes, with the place of each."""
        for route in self.routes.config if self.routes else ():
            if route.is_default:
                yield Gateway(
                    route.next_hop_address, route.next_hop_interface, route, route.at("next_hop_address")
                )
