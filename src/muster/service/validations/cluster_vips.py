# SPDX-License-Identifier: Apache-2.0
"""Whether the virtual addresses of a cluster are given, in its network, and free."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from muster.model.wire.cluster import ApiVip, IngressVip
from muster.service.state import Cluster, Host
from muster.service.validations.addresses import Address, Subnet, find_address, find_subnet
from muster.service.validations.cluster_networks import is_defined
from muster.service.validations.facts import (
    BALANCER,
    COUNT,
    MANAGED,
    NAME,
    balances_itself,
    is_single,
    join,
    machine_subnets,
    name_of,
)
from muster.service.validations.registry import (
    Answer,
    ClusterView,
    Reads,
    failed,
    on_cluster,
    passed,
    pending,
)

Vips: TypeAlias = tuple[ApiVip, ...] | tuple[IngressVip, ...]
Freeness: TypeAlias = Literal["free", "used", "unknown"]

_DEFINED: Final = COUNT | MANAGED | {"machine_networks", "vip_dhcp_allocation"}
_VALID: Final = COUNT | MANAGED | BALANCER | {"machine_networks"}
_HOSTS: Final = NAME | {"networks", "verified_vips", "free_addresses"}


@on_cluster("api-vips-defined", "network", Reads(cluster=_DEFINED | {"api_vips"}), must=True)
def api_vips_defined(see: ClusterView) -> Answer:
    return _are_defined(see.cluster, see.cluster.api_vips)


@on_cluster("ingress-vips-defined", "network", Reads(cluster=_DEFINED | {"ingress_vips"}), must=True)
def ingress_vips_defined(see: ClusterView) -> Answer:
    return _are_defined(see.cluster, see.cluster.ingress_vips)


def _are_needless(cluster: Cluster) -> bool:
    return cluster.user_managed_networking or is_single(cluster)


def _are_defined(cluster: Cluster, vips: Vips) -> Answer:
    if _are_needless(cluster):
        return passed("needless")
    if vips:
        return passed()
    if not cluster.vip_dhcp_allocation:
        return failed()
    return failed("lease") if is_defined(cluster) else pending()


@on_cluster("api-vips-valid", "network", Reads(_HOSTS, _VALID | {"api_vips"}))
def api_vips_valid(see: ClusterView) -> Answer:
    return _are_valid(see, see.cluster.api_vips)


@on_cluster("ingress-vips-valid", "network", Reads(_HOSTS, _VALID | {"ingress_vips"}))
def ingress_vips_valid(see: ClusterView) -> Answer:
    return _are_valid(see, see.cluster.ingress_vips)


def _are_valid(see: ClusterView, vips: Vips) -> Answer:
    cluster = see.cluster
    if _are_needless(cluster):
        return passed("needless")
    if not vips:
        return pending()
    if not is_defined(cluster) or not any(host.networks for host in see.hosts.values()):
        return pending("hosts")
    for index in range(len(vips)):
        answer = _judge(see, vips[index], index)
        if answer is not None:
            return answer
    return passed(vips=join(vip.ip or "" for vip in vips))


def _judge(see: ClusterView, vip: ApiVip | IngressVip, index: int) -> Answer | None:
    """What is wrong with a virtual address; None when nothing is."""
    text = vip.ip or ""
    address = find_address(text)
    subnets = machine_subnets(see.cluster)
    if not balances_itself(see.cluster):
        # The networks are in the order of the addresses: one of each family.
        subnets = subnets[index : index + 1]
    home = next((subnet for subnet in subnets if address and subnet.holds(address)), None)
    if address is None or home is None:
        return failed("outside", vip=text, networks=join(subnet.text for subnet in subnets) or "none")
    if address.version == 4 and address.number == home.last:
        return failed("broadcast", vip=text, network=home.text)
    return None if balances_itself(see.cluster) else _judge_free(see, vip, address, home)


def _judge_free(see: ClusterView, vip: ApiVip | IngressVip, address: Address, home: Subnet) -> Answer | None:
    found = _freeness(see.hosts, vip, address, home)
    if found == "free":
        return None
    if found == "unknown":
        return failed("unverified", vip=address.text, network=home.text)
    answered = [
        name_of(host)
        for host in see.hosts.values()
        if any(each.vip == vip.ip and each.verification == "failed" for each in host.verified_vips or ())
    ]
    if answered:
        return failed(vip=address.text, hosts=join(answered), network=home.text)
    return failed("used", vip=address.text, network=home.text)


def _freeness(
    hosts: Mapping[str, Host], vip: ApiVip | IngressVip, address: Address, home: Subnet
) -> Freeness:
    """Whether an address is free: what hosts said of it together, else what they found free at all."""
    if vip.verification in ("succeeded", "failed"):
        return "free" if vip.verification == "succeeded" else "used"
    lists = [
        told.free_addresses or ()
        for host in hosts.values()
        for told in host.free_addresses or ()
        if (subnet := find_subnet(told.network)) is not None and subnet == home
    ]
    if not lists:
        return "unknown"
    return "free" if all(address.text in free for free in lists) else "used"
