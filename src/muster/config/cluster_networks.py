# SPDX-License-Identifier: Apache-2.0
"""The networks that exist only within the cluster: what has an address in them cannot be reached."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Final

from muster.config import derive
from muster.model.networking import Networking
from muster.model.values import IP, Network

_JOIN_NETWORK: Final = ip_network("100.64.0.0/16")
"""What OVN-Kubernetes uses between the routers of the hosts when nothing else is set."""


@dataclass(frozen=True)
class ClusterNetwork:
    """A network within the cluster, and how the file calls it."""

    what: str
    cidr: Network


def find_cluster_network(ip: IP, networking: Networking | None) -> ClusterNetwork | None:
    """The network within the cluster that an address falls into."""
    return next((each for each in _cluster_networks(networking) if ip in each.cidr), None)


def _cluster_networks(networking: Networking | None) -> Iterator[ClusterNetwork]:
    for cidr in derive.cluster_networks(networking):
        yield ClusterNetwork("clusterNetwork", cidr)
    for cidr in derive.service_networks(networking):
        yield ClusterNetwork("serviceNetwork", cidr)
    plugin = (networking.network_type or networking.type) if networking else None
    if plugin in (None, derive.DEFAULT_NETWORK_TYPE):
        settings = networking.ovn_kubernetes_config if networking else None
        join = settings.ipv4.internal_join_subnet if settings and settings.ipv4 else None
        yield ClusterNetwork("internalJoinSubnet", join or _JOIN_NETWORK)
