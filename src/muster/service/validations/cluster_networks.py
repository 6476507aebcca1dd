# SPDX-License-Identifier: Apache-2.0
"""Whether the networks of a cluster are given, fit together and are wide enough."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations, product
from typing import Final

from muster.service.state import Cluster
from muster.service.validations.addresses import FAMILIES, Subnet, find_address, find_subnet, find_subnets
from muster.service.validations.facts import (
    BALANCER,
    COUNT,
    MANAGED,
    NETWORKS,
    balances_itself,
    is_single,
    needs_machine_network,
)
from muster.service.validations.registry import (
    Answer,
    ClusterView,
    Reads,
    broken,
    failed,
    on_cluster,
    passed,
    pending,
)

LEAST_HOST_BITS: Final = 7
"""Each host gets at least 128 addresses for its pods."""
LEAST_HOSTS: Final = 4
BITS: Final = {4: 32, 6: 128}
WITH_PREFIX: Final = ("OVNKubernetes", "OpenShiftSDN")
"""Network types that give each host a part of the cluster network by its prefix."""
DEFAULT_PREFIX: Final = {4: 23, 6: 64}
FROM_OTHERS: Final = ("Cilium", "Calico", "CiscoACI", "None")
TYPES: Final = (*WITH_PREFIX, *FROM_OTHERS)

_MACHINE: Final = COUNT | MANAGED | {"machine_networks"}
_TYPE: Final = frozenset({"network_type", "install_config_overrides"})


def is_defined(cluster: Cluster) -> bool:
    """Whether the machine network is known, or need not be."""
    return bool(cluster.machine_networks) or not needs_machine_network(cluster)


@on_cluster("machine-cidr-defined", "network", Reads({"networks"}, _MACHINE))
def machine_cidr_defined(see: ClusterView) -> Answer:
    if not needs_machine_network(see.cluster):
        return passed("needless")
    if see.cluster.machine_networks:
        return passed()
    return failed() if any(host.networks for host in see.hosts.values()) else pending()


@on_cluster("cluster-cidr-defined", "network", Reads(cluster={"cluster_networks"}))
def cluster_cidr_defined(see: ClusterView) -> Answer:
    return passed() if see.cluster.cluster_networks else failed()


@on_cluster("service-cidr-defined", "network", Reads(cluster={"service_networks"}))
def service_cidr_defined(see: ClusterView) -> Answer:
    return passed() if see.cluster.service_networks else failed()


@on_cluster("no-cidrs-overlapping", "network", Reads(cluster=NETWORKS | _MACHINE))
def no_cidrs_overlapping(see: ClusterView) -> Answer:
    if not _are_all_defined(see.cluster):
        return pending()
    kinds = _by_kind(see.cluster)
    if kinds is None:
        return broken()
    for (kind, subnet), (other, found) in _pairs(kinds):
        if subnet.overlaps(found):
            return failed(kind=kind, first=subnet.text, other=other, second=found.text)
    return passed()


def _are_all_defined(cluster: Cluster) -> bool:
    return bool(cluster.cluster_networks and cluster.service_networks) and is_defined(cluster)


def _by_kind(cluster: Cluster) -> dict[str, tuple[Subnet, ...]] | None:
    """The networks by what they are for; None when one is not a network."""
    found = {
        "machine": find_subnets(each.cidr for each in cluster.machine_networks),
        "cluster": find_subnets(each.cidr for each in cluster.cluster_networks),
        "service": find_subnets(each.cidr for each in cluster.service_networks),
    }
    known = {kind: subnets for kind, subnets in found.items() if subnets is not None}
    return known if len(known) == len(found) else None


_Named = tuple[str, Subnet]


def _pairs(kinds: dict[str, tuple[Subnet, ...]]) -> Iterator[tuple[_Named, _Named]]:
    """All that must not overlap; machine networks may."""
    for (kind, subnets), (other, found) in combinations(kinds.items(), 2):
        yield from (((kind, one), (other, two)) for one, two in product(subnets, found))
    for kind in ("cluster", "service"):
        yield from (((kind, one), (kind, two)) for one, two in combinations(kinds[kind], 2))


@on_cluster("networks-same-address-families", "network", Reads(cluster=NETWORKS | _MACHINE))
def networks_same_address_families(see: ClusterView) -> Answer:
    if not _are_all_defined(see.cluster):
        return pending()
    kinds = _by_kind(see.cluster)
    if kinds is None:
        return broken()
    if not needs_machine_network(see.cluster):
        del kinds["machine"]
    found = {kind: _families(subnets) for kind, subnets in kinds.items()}
    if len(set(found.values())) == 1:
        return passed()
    return failed(found=", ".join(f"{kind} {' and '.join(names)}" for kind, names in found.items()))


def _families(subnets: tuple[Subnet, ...]) -> tuple[str, ...]:
    """The families in the order in which they come: the first is the primary one."""
    return tuple(dict.fromkeys(FAMILIES[subnet.version] for subnet in subnets))


@on_cluster("network-prefix-valid", "network", Reads({"id"}, _TYPE | {"cluster_networks"}))
def network_prefix_valid(see: ClusterView) -> Answer:
    if not see.cluster.cluster_networks:
        return pending()
    counts = network_type_of(see.cluster) in WITH_PREFIX
    for network in see.cluster.cluster_networks:
        subnet = find_subnet(network.cidr)
        if subnet is None:
            return broken(network=network.cidr or "")
        answer = _judge_prefix(
            subnet, (network.host_prefix or 0) if counts else DEFAULT_PREFIX[subnet.version], len(see.hosts)
        )
        if answer is not None:
            return answer
    return passed()


def _judge_prefix(subnet: Subnet, prefix: int, hosts: int) -> Answer | None:
    most = BITS[subnet.version] - LEAST_HOST_BITS
    if not 1 <= prefix <= most:
        return failed(prefix=prefix, network=subnet.text, most=most)
    wanted = 1 if hosts == 1 else max(LEAST_HOSTS, hosts)
    room = 1 << max(0, prefix - subnet.prefix)
    if wanted <= room:
        return None
    return failed("small", network=subnet.text, prefix=prefix, room=room, wanted=wanted)


@on_cluster(
    "machine-cidr-equals-to-calculated-cidr",
    "network",
    Reads({"networks"}, MANAGED | BALANCER | {"machine_networks", "api_vips", "ingress_vips"}),
)
def machine_cidr_equals_to_calculated_cidr(see: ClusterView) -> Answer:
    cluster = see.cluster
    if cluster.user_managed_networking or balances_itself(cluster):
        return passed("needless")
    vips = [vip.ip for vip in cluster.api_vips or cluster.ingress_vips if vip.ip]
    if not vips:
        return pending()
    if not any(host.networks for host in see.hosts.values()):
        return pending("hosts")
    for vip, given in zip(vips, (*cluster.machine_networks, *(None for _ in vips)), strict=False):
        found = _network_with(see, vip)
        if found is None:
            return failed("nowhere", vip=vip)
        subnet = find_subnet(given.cidr) if given else None
        if subnet is not None and subnet.text != found:
            return failed(vip=vip, given=subnet.text, found=found)
    return passed()


def _network_with(see: ClusterView, vip: str) -> str | None:
    """The first network of a host that an address is in."""
    address = find_address(vip)
    if address is None:
        return None
    for host in see.hosts.values():
        for text in host.networks:
            subnet = find_subnet(text)
            if subnet is not None and subnet.holds(address):
                return subnet.text
    return None


@on_cluster(
    "network-type-valid",
    "network",
    Reads(cluster=NETWORKS | {"network_type", "control_plane_count", "vip_dhcp_allocation"}),
)
def network_type_valid(see: ClusterView) -> Answer:
    cluster = see.cluster
    if cluster.network_type not in TYPES:
        return failed(found=cluster.network_type, known=", ".join(TYPES))
    if cluster.network_type == "OpenShiftSDN":
        kinds = _by_kind(cluster) or {}
        if any(subnet.version == 6 for subnets in kinds.values() for subnet in subnets):
            return failed("ipv6")
        if is_single(cluster):
            return failed("single")
    if cluster.network_type == "OVNKubernetes" and cluster.vip_dhcp_allocation:
        return failed("dhcp")
    return passed()


@on_cluster("custom-manifests-requirements-satisfied", "network", Reads(cluster=_TYPE | {"manifests"}))
def custom_manifests_requirements_satisfied(see: ClusterView) -> Answer:
    found = network_type_of(see.cluster)
    if found not in FROM_OTHERS:
        return passed("needless")
    return passed() if see.cluster.manifests else failed(type=found)


def network_type_of(cluster: Cluster) -> str:
    """The network type, after what the user wrote over install-config.yaml."""
    return _overridden(cluster.install_config_overrides) or cluster.network_type


@lru_cache(64)
def _overridden(overrides: str) -> str:
    try:
        found = json.loads(overrides)["networking"]["networkType"]
    except (ValueError, KeyError, TypeError):
        return ""
    return found if isinstance(found, str) else ""
