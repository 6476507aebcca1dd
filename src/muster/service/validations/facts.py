# SPDX-License-Identifier: Apache-2.0
"""What validations ask about again and again: the shape of a cluster, the role of a host, how it is called.

A validation that uses one of these names the fields of the set beside it among those that it reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from muster.model.wire.cluster import Platform
from muster.service.state import Cluster, Host
from muster.service.validations.addresses import FAMILIES, Subnet, find_subnet, find_subnets
from muster.service.validations.registry import HostView

DAY: Final = frozenset({"kind"})
COUNT: Final = frozenset({"control_plane_count"})
MANAGED: Final = frozenset({"user_managed_networking"})
BALANCER: Final = frozenset({"load_balancer"})
NETWORKS: Final = frozenset({"machine_networks", "cluster_networks", "service_networks"})
ROLE: Final = frozenset({"role", "suggested_role"})
NAME: Final = frozenset({"id", "requested_hostname"})
REBOOTED: Final = frozenset({"Rebooting", "Waiting for ignition", "Configuring", "Joined", "Done"})
"""Stages in which a host no longer runs our medium."""
ROLES: Final = {
    "master": "control-plane host",
    "arbiter": "arbiter",
    "worker": "worker",
    "bootstrap": "control-plane host",
}
MOST_NAMED: Final = 5
"""How many things a message names before it says how many more there are."""


def cluster_of(see: HostView) -> Cluster:
    """The cluster of a host that is in one."""
    assert see.cluster is not None
    return see.cluster


def is_single(cluster: Cluster) -> bool:
    """Whether the cluster has one node."""
    return cluster.control_plane_count == 1


def is_day2(cluster: Cluster) -> bool:
    """Whether hosts are added to a cluster that exists."""
    return cluster.kind == "AddHostsCluster"


def balances_itself(cluster: Cluster) -> bool:
    """Whether users bring the load balancer."""
    return cluster.load_balancer is not None and cluster.load_balancer.type == "user-managed"


def needs_machine_network(cluster: Cluster) -> bool:
    """Whether the networks of the hosts have to be known."""
    return not cluster.user_managed_networking or is_single(cluster)


def machine_subnets(cluster: Cluster) -> tuple[Subnet, ...]:
    """The networks of the hosts; what is not a network is left out."""
    found = (find_subnet(each.cidr) for each in cluster.machine_networks)
    return tuple(subnet for subnet in found if subnet is not None)


def families(cluster: Cluster) -> tuple[str, ...] | None:
    """The families of addresses that the cluster has; None when a network cannot be made sense of."""
    machines = (each.cidr for each in cluster.machine_networks)
    pods = (each.cidr for each in cluster.cluster_networks)
    services = (each.cidr for each in cluster.service_networks)
    found = find_subnets((*machines, *pods, *services))
    return None if found is None else tuple(sorted({FAMILIES[subnet.version] for subnet in found}))


def is_oracle_cloud(platform: Platform) -> bool:
    """Whether it is the platform of Oracle's cloud."""
    return (
        platform.type == "external"
        and platform.external is not None
        and platform.external.platform_name == "oci"
    )


def role_of(host: Host) -> str:
    """What a host is to be: as it was told, else as was found best."""
    return host.suggested_role if host.role == "auto-assign" else host.role


def name_of(host: Host | None, id: str = "") -> str:
    """How to call a host."""
    return id if host is None else host.requested_hostname or host.id


def join(things: Iterable[str]) -> str:
    """Some things by name, the rest by number."""
    found: Sequence[str] = tuple(things)
    shown = ", ".join(found[:MOST_NAMED])
    return f"{shown} and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else shown
