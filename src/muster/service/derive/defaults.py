# SPDX-License-Identifier: Apache-2.0
"""What a cluster is made with when nobody said otherwise."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from muster.model.wire.cluster import ClusterNetwork, Platform, ServiceNetwork
from muster.service.derive.addresses import IPV4, IPV6, Family, family_of
from muster.service.derive.versions import is_at_least
from muster.service.state import Cluster

_CLUSTER: Final = {IPV4: ("10.128.0.0/14", 23), IPV6: ("fd01::/48", 64)}
_SERVICE: Final = {IPV4: "172.30.0.0/16", IPV6: "fd02::/112"}


def default_cluster_networks(families: Iterable[Family] = (IPV4,)) -> tuple[ClusterNetwork, ...]:
    """Where pods get their addresses from."""
    return tuple(
        ClusterNetwork(cidr=_CLUSTER[family][0], host_prefix=_CLUSTER[family][1]) for family in families
    )


def default_service_networks(families: Iterable[Family] = (IPV4,)) -> tuple[ServiceNetwork, ...]:
    """Where services get their addresses from."""
    return tuple(ServiceNetwork(cidr=_SERVICE[family]) for family in families)


def default_network_type(version: str, control_plane_count: int) -> str:
    """The network plug-in of a release."""
    is_new = is_at_least(version, 4, 12) or control_plane_count == 1
    return "OVNKubernetes" if is_new else "OpenShiftSDN"


def families_among(subnets: Iterable[str | None]) -> list[Family]:
    """The families of subnets, that of the first one first."""
    return list(dict.fromkeys(family_of(subnet) for subnet in subnets if subnet))


def default_values(cluster: Cluster, *, has_network_type: bool) -> dict[str, Any]:
    """What is missing in a cluster that is about to be made."""
    given = (cluster.machine_networks, cluster.service_networks, cluster.cluster_networks)
    families = families_among(each.cidr for networks in given for each in networks) or [IPV4]
    values: dict[str, Any] = {}
    if not cluster.cluster_networks:
        values["cluster_networks"] = default_cluster_networks(families)
    if not cluster.service_networks:
        values["service_networks"] = default_service_networks(families)
    if not has_network_type:
        values["network_type"] = default_network_type(cluster.openshift_version, cluster.control_plane_count)
    if cluster.control_plane_count == 1 and cluster.platform.type == "baremetal":
        values.update(platform=Platform(type="none"), user_managed_networking=True)
    return values
