# SPDX-License-Identifier: Apache-2.0
"""The networks of a cluster: those of hosts, services and pods, and those that exist only inside of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from ipaddress import ip_address, ip_network
from typing import Final, NamedTuple

from muster.config import derive
from muster.model.networking import ClusterNetwork, Networking
from muster.model.problem import Place
from muster.model.schema import Items
from muster.model.site import Site
from muster.model.tree import NOWHERE, Node, is_null
from muster.model.values import IP, Network

FIELDS: Final = (
    ("machineNetwork", "machine_network", "machine_cidr"),
    ("serviceNetwork", "service_network", "service_cidr"),
    ("clusterNetwork", "cluster_network", "cluster_networks"),
)
"""The fields with networks: their key, name, and the name of the older field."""
JOIN: Final = "join"
MASQUERADE: Final = ip_network("169.254.0.0/17")
MASQUERADE_USED: Final = ip_network("169.254.0.0/29")
"""The addresses of it that OVN-Kubernetes has itself."""
OVN_INTERNAL: Final[tuple[tuple[str, Network], ...]] = (
    (JOIN, ip_network("100.64.0.0/16")),
    ("transit", ip_network("100.88.0.0/16")),
    ("masquerade", MASQUERADE),
    (JOIN, ip_network("fd98::/64")),
    ("transit", ip_network("fd97::/64")),
    ("masquerade", ip_network("fd69::/112")),
)
"""Networks that OVN-Kubernetes uses inside itself on every host."""


def find_ip(text: str) -> IP | None:
    """The address that a text is, if it is one."""
    try:
        return ip_address(text)
    except ValueError:
        return None


def network_of(ip: IP, networks: Iterable[Network]) -> Network | None:
    """The first network that an address is in."""
    return next((network for network in networks if ip in network), None)


def edge_of(ip: IP, network: Network) -> str:
    """Which address of its IPv4 network one is, network or broadcast; /31 and /32 have no such addresses."""
    if network.version == 6 or network.prefixlen >= 31:
        return ""
    if ip == network.network_address:
        return "network"
    return "broadcast" if ip == network.broadcast_address else ""


class Net(NamedTuple):
    """One network of a cluster, and the field that it stands in."""

    field: str
    cidr: Network
    node: Node

    @property
    def is_default(self) -> bool:
        return self.node is NOWHERE

    def __str__(self) -> str:
        where = "the default" if self.is_default else f"line {Place.of(self.node).line}"
        return f"{self.field} {self.cidr} ({where})"


def read_networking(site: Site) -> tuple[Networking, bool]:
    """What is said about networks, and whether it could be read at all."""
    install = site.install
    if install is None:
        return Networking(), False
    return install.networking or Networking(), not install.is_unread("networking")


def plugin_of(networking: Networking) -> str:
    """The network plugin, under its own key or the older one."""
    return networking.network_type or networking.type or derive.DEFAULT_NETWORK_TYPE


def plugin_node(networking: Networking) -> Node:
    """Where the network plugin is named."""
    return networking.at("network_type" if networking.network_type else "type")


def uses_ovn(networking: Networking) -> bool:
    """Whether the plugin is OVN-Kubernetes, in whatever case it is written."""
    return plugin_of(networking).lower() == derive.DEFAULT_NETWORK_TYPE.lower()


class _Last:
    """The networks that were asked for last: a dozen rules ask for those of the same site, one by one."""

    site: Site | None = None
    lists: Mapping[str, Items[Network]] = {}


def lists_of(site: Site) -> dict[str, Items[Network]]:
    """The networks by field; a list that is not settled, or has an unreadable entry, is left out."""
    if _Last.site is not site:
        _Last.site, _Last.lists = site, _find_lists(site)
    return dict(_Last.lists)


def _find_lists(site: Site) -> dict[str, Items[Network]]:
    networking, readable = read_networking(site)
    derived = (
        derive.settled_machine_networks(site),
        derive.service_networks(networking),
        derive.cluster_networks(networking),
    )
    return {
        field: networks
        for (field, *names), networks in zip(FIELDS, derived, strict=True)
        if readable and networks and _is_complete(networking, *names)
    }


def _is_complete(networking: Networking, current: str, old: str) -> bool:
    for name in (current, old):
        found = getattr(networking, name)
        entries = found if isinstance(found, Items) else ()
        if networking.is_unread(name) or any(getattr(entry, "cidr", entry) is None for entry in entries):
            return False
    return True


def nets_of(site: Site) -> list[Net]:
    """All networks, in the order machines, services, pods."""
    return [Net(field, *found) for field, items in lists_of(site).items() for found in items.located()]


def field_node(networking: Networking, field: str) -> Node:
    """Where a list of networks stands, under its own key or the older one."""
    _, current, old = next(names for names in FIELDS if names[0] == field)
    written = networking.places.get(current)
    return networking.at(old) if written is None or is_null(written) else written


def pod_entries(networking: Networking) -> Items[ClusterNetwork]:
    """The entries of clusterNetwork, or of its older field."""
    return networking.cluster_network or networking.cluster_networks


def known_machine_networks(site: Site) -> Items[Network] | None:
    """The networks that the hosts have to be in; None when they are not known."""
    return lists_of(site).get("machineNetwork")


def network_words(networks: Items[Network]) -> str:
    """Networks as messages name them."""
    words = ", ".join(map(str, networks))
    return f"{words} (the default)" if derive.is_default(networks) else words


def join_subnet(networking: Networking) -> Iterator[Net]:
    """The network that OVN-Kubernetes was told to use between the routers of the hosts."""
    config = networking.ovn_kubernetes_config
    if config and config.ipv4 and config.ipv4.internal_join_subnet:
        node = config.ipv4.at("internal_join_subnet")
        yield Net("internalJoinSubnet", config.ipv4.internal_join_subnet, node)


class InnerNetwork(NamedTuple):
    """A network that exists only inside the cluster, so that nothing outside can have an address of it."""

    name: str
    cidr: Network
    movable: bool = True

    @property
    def choice(self) -> str:
        """What else can be done about an address in it than to change the address."""
        return f", or choose another {self.name}" if self.movable else ""


def inner_networks(site: Site) -> Iterator[InnerNetwork]:
    """All networks inside the cluster, as far as they could be read."""
    networking, readable = read_networking(site)
    if not readable:
        return
    for field, networks in reversed(lists_of(site).items()):
        if field != "machineNetwork":
            yield from (InnerNetwork(field, network) for network in networks)
    if not uses_ovn(networking):
        return
    moved = list(join_subnet(networking))
    yield from (InnerNetwork(net.field, net.cidr) for net in moved)
    for what, network in OVN_INTERNAL:
        movable = what == JOIN and network.version == 4
        if not (movable and moved):
            name = "internalJoinSubnet" if movable else f"the {what} network of OVN-Kubernetes"
            yield InnerNetwork(name, network, movable)


def find_inner_network(ip: IP, site: Site) -> InnerNetwork | None:
    """The network inside the cluster that an address falls into.

    One that overlaps with a machine network is told for that, and says nothing about single addresses.
    """
    machine = known_machine_networks(site) or ()
    return next(
        (
            each
            for each in inner_networks(site)
            if ip in each.cidr and not any(each.cidr.overlaps(network) for network in machine)
        ),
        None,
    )
