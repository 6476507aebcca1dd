# SPDX-License-Identifier: Apache-2.0
"""The firewall of nodes: each host gets the rules of its role, for the networks of its cluster."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address

import pytest

from muster.release.node.cluster import Cluster, Member
from muster.release.node.firewall import firewall, render_firewall
from muster.release.node.vips import vip_peers
from tests.clusters import ARBITER, BALANCED, DUAL, SINGLE, THREE, WITH_WORKER


def rules(cluster: Cluster) -> dict[str, str]:
    return {member.name: render_firewall(cluster, member) for member in cluster.members}


def test_the_rules_are_where_the_machine_os_looks_for_them() -> None:
    (file,) = firewall(SINGLE, SINGLE.first).files
    assert (file.path, file.mode) == ("/etc/muster/firewall.nft", 0o644)


def test_etcd_and_the_api_are_open_where_they_run() -> None:
    found = rules(ARBITER)
    assert {name for name, text in found.items() if "dport 2380 accept" in text} == {*found}
    assert {name for name, text in found.items() if "dport 6443 " in text} == {"master-0", "master-1"}
    found = rules(WITH_WORKER)
    workers = {"worker-0", "worker-1"}
    assert {name for name, text in found.items() if "dport 2380 accept" in text} == {*found} - workers
    assert all("dport 10250 " in text for text in found.values())


@pytest.mark.parametrize(
    ("cluster", "names"),
    [
        (THREE, {"master-0"}),
        (ARBITER, {"arbiter-0"}),
        (replace(THREE, rendezvous="master-2"), {"master-2"}),
        (replace(THREE, rendezvous=""), set()),
    ],
    ids=["first host", "arbiter", "another master", "service on another machine"],
)
def test_the_port_of_the_service_is_open_on_the_rendezvous_host(cluster: Cluster, names: set[str]) -> None:
    assert {name for name, text in rules(cluster).items() if "dport 8090 " in text} == names


def test_hosts_are_known_by_the_machine_networks_so_that_more_may_come() -> None:
    text = render_firewall(THREE, THREE.first)
    assert "ip saddr { 192.0.2.0/24 } tcp dport 10256 " in text
    assert "ip saddr { 192.0.2.0/24, 10.128.0.0/14 } tcp dport 10250 " in text


def test_etcd_is_open_to_its_members_only() -> None:
    text = render_firewall(WITH_WORKER, WITH_WORKER.first)
    assert text.count("ip saddr { 192.0.2.10, 192.0.2.11, 192.0.2.12 } tcp dport ") == 2


def peers(cluster: Cluster, host: Member) -> list[str]:
    return [str(each) for each in vip_peers(cluster, host)]


def test_only_hosts_that_share_an_address_are_peers() -> None:
    assert peers(DUAL, DUAL.members[1]) == ["192.0.2.10", "192.0.2.12", "2001:db8::10", "2001:db8::12"]
    assert peers(WITH_WORKER, WITH_WORKER.members[0]) == ["192.0.2.11", "192.0.2.12"]
    assert peers(WITH_WORKER, WITH_WORKER.members[3]) == ["192.0.2.14"]
    assert peers(ARBITER, ARBITER.members[2]) == []
    assert peers(BALANCED, BALANCED.members[0]) == []


def test_a_host_that_holds_an_address_alone_takes_vrrp_from_nobody() -> None:
    alone = replace(THREE, members=THREE.members[:1])
    assert peers(alone, alone.first) == []
    assert "l4proto vrrp" not in render_firewall(alone, alone.first)
    assert ip_address("192.0.2.5") in alone.api_vips
