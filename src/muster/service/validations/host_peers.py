# SPDX-License-Identifier: Apache-2.0
"""Whether a host and its peers reach each other, quickly, without loss, and each at its own address."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from muster.service.parts import THERE
from muster.service.state import Cluster, Host, Peer
from muster.service.validations.addresses import FAMILIES, Subnet, find_subnet, leading_address
from muster.service.validations.facts import (
    BALANCER,
    COUNT,
    DAY,
    MANAGED,
    NAME,
    NETWORKS,
    ROLE,
    balances_itself,
    cluster_of,
    families,
    is_day2,
    is_single,
    join,
    machine_subnets,
    name_of,
    role_of,
)
from muster.service.validations.registry import (
    SUPPRESSED,
    Answer,
    HostView,
    Reads,
    broken,
    failed,
    on_host,
    passed,
    pending,
)
from muster.service.validations.requirements import requirement_of

LEAST_MESH: Final = 3
LEAST_FENCED: Final = 2
_TO_PEERS: Final = Reads(
    host=ROLE | NAME | {THERE, "inventory.system_vendor", "asked", "peers"},
    cluster=DAY | COUNT | {"openshift_version"},
    peers=ROLE | NAME,
)


@on_host(
    "belongs-to-majority-group",
    "network",
    Reads(
        NAME | {THERE, "asked", "groups", "peers", "fencing_credentials"},
        DAY | COUNT | MANAGED | BALANCER | NETWORKS,
        NAME | {"peers", "fencing_credentials"},
    ),
)
def belongs_to_majority_group(see: HostView) -> Answer:
    cluster = cluster_of(see)
    if is_single(cluster) or is_day2(cluster):
        return passed("needless")
    if see.host.inventory is None:
        return pending()
    wanted = _meshes(cluster)
    if wanted is None:
        return broken()
    if not wanted:
        return pending("undefined")
    outside = [mesh for mesh in wanted if mesh not in see.host.groups]
    if not outside:
        return passed()
    if not see.host.asked:
        return pending("asking")
    least = LEAST_FENCED if _is_fenced(see, cluster) else LEAST_MESH
    known = 1 + int(see.host.asked, 16).bit_count()
    if known < least:
        return pending("few", count=known, least=least)
    return _outside(see, outside)


def _meshes(cluster: Cluster) -> tuple[str, ...] | None:
    """Within what hosts have to reach each other: networks, or families where hosts are routed."""
    if cluster.user_managed_networking or balances_itself(cluster):
        return families(cluster)
    found = machine_subnets(cluster)
    return tuple(subnet.text for subnet in found) if len(found) == len(cluster.machine_networks) else None


def _is_fenced(see: HostView, cluster: Cluster) -> bool:
    if cluster.control_plane_count != LEAST_FENCED:
        return False
    return any(host.fencing_credentials for host in see.hosts.values())


def _outside(see: HostView, outside: list[str]) -> Answer:
    name, within = name_of(see.host), join(outside)
    silent = [
        f"{name_of(see.hosts.get(id), id)} ({remark})"
        for id, peer in see.host.peers.items()
        for remark in peer.silent
        if any(_concerns(remark, mesh) for mesh in outside)
    ]
    if silent:
        return failed(host=name, silent=join(silent), network=within)
    unheard = [
        name_of(host)
        for host in see.hosts.values()
        if (peer := host.peers.get(see.host.id)) is not None
        and any(_concerns(remark, mesh) for remark in peer.silent for mesh in outside)
    ]
    if unheard:
        return failed("unheard", host=name, peers=join(unheard), network=within)
    return failed("apart", host=name, network=within)


def _concerns(remark: str, mesh: str) -> bool:
    """Whether a silent address is one of a network or family; yes when it does not say."""
    address = leading_address(remark)
    if address is None:
        return True
    if mesh in FAMILIES.values():
        return FAMILIES[address.version] == mesh
    subnet = find_subnet(mesh)
    return subnet is None or subnet.holds(address)


@on_host(
    "mtu-valid",
    "network",
    Reads(NAME | {THERE, "asked", "peers"}, DAY | COUNT | MANAGED | {"machine_networks"}, NAME),
    advisory=True,
)
def mtu_valid(see: HostView) -> Answer:
    cluster = cluster_of(see)
    if is_single(cluster):
        return SUPPRESSED
    if see.host.inventory is None:
        return pending()
    if is_day2(cluster):
        return passed("needless")
    if not see.host.asked:
        return pending("asking")
    subnets = None if cluster.user_managed_networking else machine_subnets(cluster)
    found = [
        f"{name_of(see.hosts.get(id), id)} ({remark})"
        for id, peer in see.host.peers.items()
        for remark in peer.small_packets
        if _is_within(remark, subnets)
    ]
    return failed(host=name_of(see.host), peers=join(found)) if found else passed()


def _is_within(remark: str, subnets: tuple[Subnet, ...] | None) -> bool:
    address = leading_address(remark)
    return address is None or subnets is None or any(subnet.holds(address) for subnet in subnets)


@on_host("sufficient-network-latency-requirement-for-role", "network", _TO_PEERS)
def sufficient_network_latency_requirement_for_role(see: HostView) -> Answer:
    most = requirement_of(see.host, see.cluster).rtt_ms
    return _within_limit(see, most, lambda peer: peer.rtt_ms, "ms")


@on_host("sufficient-packet-loss-requirement-for-role", "network", _TO_PEERS)
def sufficient_packet_loss_requirement_for_role(see: HostView) -> Answer:
    most = requirement_of(see.host, see.cluster).loss_percent
    return _within_limit(see, most, lambda peer: peer.loss_percent, "%")


def _within_limit(see: HostView, most: int | None, figure: Callable[[Peer], int], unit: str) -> Answer:
    """Whether no peer of the same role is beyond a limit."""
    if see.host.inventory is None:
        return pending()
    role = role_of(see.host)
    if most is None or role == "auto-assign" or is_day2(cluster_of(see)):
        return passed()
    if not see.host.asked:
        return pending("asking")
    beyond = [
        f"{name_of(peer, id)} ({value} {unit})"
        for id, peer, value in _figures(see.host, see, figure)
        if value > most and peer is not None and role_of(peer) == role
    ]
    return failed(host=name_of(see.host), peers=join(beyond), most=most) if beyond else passed()


def _figures(
    host: Host, see: HostView, figure: Callable[[Peer], int]
) -> Iterator[tuple[str, Host | None, int]]:
    for id, peer in host.peers.items():
        yield id, see.hosts.get(id), figure(peer)


@on_host("no-ip-collisions-in-network", "network", Reads(NAME | {"collisions"}, DAY))
def no_ip_collisions_in_network(see: HostView) -> Answer:
    if is_day2(cluster_of(see)):
        return passed("added")
    if not see.host.collisions:
        return passed()
    found = (each.partition(" ") for each in see.host.collisions)
    told = join(f"{address} ({macs.replace(' ', ' and ')})" for address, _, macs in found)
    return failed(host=name_of(see.host), addresses=told)
