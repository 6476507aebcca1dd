# SPDX-License-Identifier: Apache-2.0
"""Subnets of hosts, and which of them are the machine networks."""

from __future__ import annotations

from typing import Any

import pytest

from muster.model.wire.cluster import (
    ApiVip,
    IngressVip,
    LoadBalancer,
    MachineNetwork,
    ServiceNetwork,
)
from muster.model.wire.inventory import Interface, Route
from muster.service.derive.networks import derive_machine_networks, networks_of
from muster.service.realm import Draft
from tests.counting import calls_in
from tests.unit.service.hosts import (
    NOW,
    all_told,
    make_cluster,
    make_host,
    make_inventory,
    settle,
    tell_inventory,
)


def nic(name: str, *addresses: str) -> Interface:
    return Interface(
        name=name,
        mac_address="52:54:00:00:00:01",
        ipv4_addresses=tuple(each for each in addresses if ":" not in each),
        ipv6_addresses=tuple(each for each in addresses if ":" in each),
    )


def test_subnets_without_those_that_lead_nowhere() -> None:
    interfaces = (
        nic("eth0", "198.51.100.9/24", "169.254.3.3/16", "fe80::1/64"),
        nic("eth1", "192.0.2.4/25", "192.0.2.5/25", "2001:db8::4/64"),
        nic("lo", "127.0.0.1/8"),
        nic("eth2", "not an address"),
    )
    assert networks_of(make_inventory(1, interfaces=interfaces)) == (
        "192.0.2.0/25",
        "198.51.100.0/24",
        "2001:db8::/64",
    )


def found(subnets: dict[str, int], **cluster: Any) -> tuple[list[str | None], str]:
    values = derive_machine_networks(make_cluster(**cluster), subnets, lambda: None)
    return [each.cidr for each in values.get("machine_networks", ())], values.get(
        "machine_networks_reason", ""
    )


SUBNETS = {"192.0.2.0/24": 3, "192.0.2.0/25": 1, "198.51.100.0/24": 3, "2001:db8::/64": 3}


def test_the_subnet_of_the_api_vip_that_most_hosts_are_in() -> None:
    cidrs, why = found(SUBNETS, api_vips=(ApiVip(ip="192.0.2.100"),))
    assert cidrs == ["192.0.2.0/24"]
    assert why == "192.0.2.0/24 is the subnet of hosts that holds the API VIP 192.0.2.100"


def test_the_subnet_of_a_vip_is_looked_up_and_not_searched_for() -> None:
    """With hundreds of subnets of each of a hundred hosts, one inventory once took 300 ms."""
    subnets = {f"10.{at >> 8}.{at & 255}.0/24": 1 for at in range(40_000)} | {"192.0.2.0/24": 2}
    made = make_cluster(api_vips=(ApiVip(ip="192.0.2.200"),))
    assert calls_in(lambda: derive_machine_networks(made, subnets, lambda: None)) < 10_000


def test_both_families_in_the_order_of_the_vips() -> None:
    vips = (ApiVip(ip="2001:db8::5"), ApiVip(ip="192.0.2.200"))
    assert found(SUBNETS, api_vips=vips)[0] == ["2001:db8::/64", "192.0.2.0/24"]


def test_the_ingress_vip_will_do() -> None:
    assert found(SUBNETS, ingress_vips=(IngressVip(ip="198.51.100.2"),))[0] == ["198.51.100.0/24"]


@pytest.mark.parametrize(
    "cluster",
    [
        {"machine_networks": (MachineNetwork(cidr="203.0.113.0/24"),)},
        {"load_balancer": LoadBalancer(type="user-managed")},
        {"user_managed_networking": True},
        {"status": "installing"},
        {"kind": "AddHostsCluster"},
        {"api_vips": (ApiVip(ip="203.0.113.1"),)},
    ],
)
def test_when_it_is_not_for_us_to_say(cluster: dict[str, Any]) -> None:
    values = {"api_vips": (ApiVip(ip="192.0.2.100"),), **cluster}
    assert derive_machine_networks(make_cluster(**values), SUBNETS, lambda: None) == {}


def test_with_dhcp_only_when_there_is_one_subnet() -> None:
    assert found({"192.0.2.0/24": 2}, vip_dhcp_allocation=True)[0] == ["192.0.2.0/24"]
    assert found(SUBNETS, vip_dhcp_allocation=True)[0] == []


def single(*interfaces: Interface, routes: tuple[Route, ...] = (), **cluster: Any) -> list[str | None]:
    inventory = make_inventory(1, interfaces=interfaces, routes=routes)
    host = make_host(1, inventory=inventory, networks=networks_of(inventory))
    values = derive_machine_networks(make_cluster(control_plane_count=1, **cluster), {}, lambda: host)
    return [each.cidr for each in values.get("machine_networks", ())]


def test_the_only_subnet_of_a_single_node() -> None:
    assert single(nic("eth0", "192.0.2.4/24"), user_managed_networking=True) == ["192.0.2.0/24"]


def test_the_default_route_of_a_single_node_decides() -> None:
    routes = (
        Route(interface="eth0", gateway="192.0.2.1", destination="0.0.0.0", metric=200),
        Route(interface="eth1", gateway="198.51.100.1", destination="0.0.0.0", metric=100),
    )
    nics = (nic("eth0", "192.0.2.4/24"), nic("eth1", "198.51.100.4/24"))
    assert single(*nics, routes=routes) == ["198.51.100.0/24"]
    assert single(*nics) == []


def test_a_single_node_in_both_families() -> None:
    services = (ServiceNetwork(cidr="fd02::/112"), ServiceNetwork(cidr="172.30.0.0/16"))
    found = single(nic("eth0", "192.0.2.4/24", "2001:db8::4/64"), service_networks=services)
    assert found == ["2001:db8::/64", "192.0.2.0/24"]


def test_what_was_derived_follows_the_vip_and_goes_with_it() -> None:
    realm = all_told(3)
    draft = Draft(realm, NOW)
    draft.change(draft.cluster, api_vips=(ApiVip(ip="198.18.9.9"),))
    settle(draft)
    assert realm.cluster is not None
    assert [each.cidr for each in realm.cluster.machine_networks] == ["198.18.0.0/16"]
    draft = Draft(realm, NOW)
    draft.change(draft.cluster, api_vips=())
    settle(draft)
    assert realm.cluster.machine_networks == ()
    assert realm.cluster.machine_networks_reason == ""


def test_a_lost_subnet_is_not_reached_any_more() -> None:
    realm = all_told(1)
    draft = Draft(realm, NOW)
    host = next(iter(draft.hosts.values()))
    draft.change(host, reached={"198.18.0.0/16": "6", "IPv4": "6"})
    settle(draft)
    tell_inventory(realm, 1, interfaces=(nic("eth0", "192.0.2.4/24"),))
    after = realm.hosts[host.id]
    assert after.networks == ("192.0.2.0/24",)
    assert after.reached == {"IPv4": "6"}
