# SPDX-License-Identifier: Apache-2.0
"""The networks of a cluster as rules look at them: all alike, without those that could not be read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from muster.config.derive import (
    DEFAULT_NETWORK_TYPE,
    cluster_networks,
    machine_networks,
    service_networks,
)
from muster.model.networking import ClusterNetwork, Networking
from muster.model.problem import Place
from muster.model.schema import Items
from muster.model.site import Site
from muster.model.tree import NOWHERE, Node, is_null
from muster.model.values import Network

FIELDS: Final = (
    ("machineNetwork", "machine_network", "machine_cidr"),
    ("serviceNetwork", "service_network", "service_cidr"),
    ("clusterNetwork", "cluster_network", "cluster_networks"),
)
"""The fields with networks: their key, name, and the name of the older field."""


class Net(NamedTuple):
    """One network of a cluster, and the field that it stands in."""

    field: str
    cidr: Network
    node: Node

    @property
    def is_default(self) -> bool:
        return self.node is NOWHERE

    def __str__(self) -> str:
        where = "the default" if self.is_default else f"line {Place.of(self.node).position[0]}"
        return f"{self.field} {self.cidr} ({where})"


def read_networking(site: Site) -> tuple[Networking, bool]:
    """What is said about networks, and whether it could be read at all."""
    install = site.install
    if install is None:
        return Networking(), False
    return install.networking or Networking(), not install.is_unread("networking")


def lists_of(networking: Networking) -> dict[str, Items[Network]]:
    """The networks by field; a list with an entry that could not be read is left out."""
    derived = (machine_networks(networking), service_networks(networking), cluster_networks(networking))
    found = {}
    for (field, _, _), networks in zip(FIELDS, derived, strict=True):
        if is_complete(networking, field):
            found[field] = networks
    return found


def field_node(networking: Networking, field: str) -> Node:
    """Where a list of networks stands, under its own key or the older one."""
    _, current, old = next(names for names in FIELDS if names[0] == field)
    written = networking.places.get(current)
    return networking.at(old) if written is None or is_null(written) else written


def is_complete(networking: Networking, field: str) -> bool:
    """Whether all networks of a field could be read."""
    _, current, old = next(names for names in FIELDS if names[0] == field)
    if networking.is_unread(current) or networking.is_unread(old):
        return False
    return all(getattr(entry, "cidr", entry) is not None for entry in getattr(networking, current))


def nets_of(networking: Networking) -> list[Net]:
    """All networks, in the order machines, services, pods."""
    return [Net(field, *found) for field, items in lists_of(networking).items() for found in items.located()]


def uses_ovn(networking: Networking) -> bool:
    """Whether the plugin is OVN-Kubernetes, in whatever case it is written."""
    return plugin_of(networking).lower() == DEFAULT_NETWORK_TYPE.lower()


def plugin_of(networking: Networking) -> str:
    """The network plugin."""
    return networking.network_type or networking.type or DEFAULT_NETWORK_TYPE


def join_subnet(networking: Networking) -> Iterator[Net]:
    """The network that OVN-Kubernetes was told to use between the routers of the hosts."""
    config = networking.ovn_kubernetes_config
    if config and config.ipv4 and config.ipv4.internal_join_subnet:
        node = config.ipv4.at("internal_join_subnet")
        yield Net("internalJoinSubnet", config.ipv4.internal_join_subnet, node)


def pod_entries(networking: Networking) -> Items[ClusterNetwork]:
    """The entries of clusterNetwork, or of its older field."""
    return networking.cluster_network or networking.cluster_networks
