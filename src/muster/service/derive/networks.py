# SPDX-License-Identifier: Apache-2.0
"""Networks: the subnets of a host, and which of them the cluster's machines share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from muster.model.wire.cluster import MachineNetwork
from muster.model.wire.inventory import Inventory, Route
from muster.service.derive.addresses import (
    IPV4,
    Family,
    addressed,
    family_of,
    parse_network,
    sort_subnets,
    subnets_around,
)
from muster.service.derive.phases import is_cluster_open, is_single_node
from muster.service.state import Cluster, Host

_EVERYWHERE: Final = ("0.0.0.0", "::", "0.0.0.0/0", "::/0", "default")  # noqa: S104


def networks_of(inventory: Inventory | None) -> tuple[str, ...]:
    """The subnets of a host's interfaces."""
    return sort_subnets(subnet for _, _, subnet in addressed(inventory))


def default_route(inventory: Inventory, family: Family | None = None) -> Route | None:
    """The route that a host takes to everywhere else: the cheapest."""
    routes = [
        route
        for route in inventory.routes or ()
        if route.destination in _EVERYWHERE
        and route.gateway
        and (family is None or family_of(route.gateway) == family)
    ]
    return min(routes, key=lambda route: route.metric or 0, default=None)


def derive_machine_networks(
    cluster: Cluster, subnets: Mapping[str, int], first_host: Callable[[], Host | None]
) -> dict[str, Any]:
    """The machine networks when nobody gave them, and why they are these.

    `subnets` says how many hosts have an address in each.
    """
    if not is_cluster_open(cluster) or cluster.kind != "Cluster":
        return {}
    if cluster.machine_networks and not cluster.machine_networks_reason:
        return {}
    if cluster.load_balancer is not None and cluster.load_balancer.type == "user-managed":
        return {}
    found = dict(_find(cluster, subnets, first_host))
    if not found and not cluster.machine_networks:
        return {}
    networks = tuple(MachineNetwork(cluster_id=cluster.id, cidr=subnet) for subnet in found)
    return {"machine_networks": networks, "machine_networks_reason": "; ".join(found.values())}


def _find(
    cluster: Cluster, subnets: Mapping[str, int], first_host: Callable[[], Host | None]
) -> Iterable[tuple[str, str]]:
    if is_single_node(cluster):
        host = first_host()
        return _of_single_node(cluster, host) if host is not None else ()
    if cluster.user_managed_networking:
        return ()
    if cluster.vip_dhcp_allocation:
        return _the_only_one(subnets)
    return _of_vips(cluster, subnets)


def _of_vips(cluster: Cluster, subnets: Mapping[str, int]) -> Iterable[tuple[str, str]]:
    vips = [("API", vip.ip) for vip in cluster.api_vips] or [
        ("ingress", vip.ip) for vip in cluster.ingress_vips
    ]
    for name, ip in vips:
        inside = [subnet for subnet in subnets_around(ip or "") if subnet in subnets]
        if inside:
            best = min(inside, key=lambda subnet: (-subnets[subnet], -_prefix(subnet), subnet))
            yield best, f"{best} is the subnet of hosts that holds the {name} VIP {ip}"


def _prefix(subnet: str) -> int:
    network = parse_network(subnet)
    return network.prefixlen if network is not None else 0


def _the_only_one(subnets: Mapping[str, int]) -> Iterable[tuple[str, str]]:
    if len(subnets) == 1:
        only = next(iter(subnets))
        yield only, f"{only} is the only subnet of all hosts"


def _of_single_node(cluster: Cluster, host: Host) -> Iterable[tuple[str, str]]:
    for family in families_of(cluster):
        mine = [subnet for subnet in host.networks if family_of(subnet) == family]
        if len(mine) == 1:
            yield mine[0], f"{mine[0]} is the only {family} subnet of the host"
        elif mine and host.inventory is not None:
            route = default_route(host.inventory, family)
            for nic, _, subnet in addressed(host.inventory) if route is not None else ():
                if route is not None and nic.name == route.interface and subnet in mine:
                    yield (
                        subnet,
                        f"{subnet} is the subnet of {nic.name}, which the {family} default route takes",
                    )
                    break


def families_of(cluster: Cluster) -> list[Family]:
    """The families of addresses that a cluster uses, its first one first."""
    networks = cluster.service_networks or cluster.cluster_networks
    return list(dict.fromkeys(family_of(each.cidr) for each in networks if each.cidr)) or [IPV4]
