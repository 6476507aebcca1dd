# SPDX-License-Identifier: Apache-2.0
"""Clusters of several kinds: boot one ISO, wait, and the nodes themselves judge what came of it."""

from __future__ import annotations

import json
import sys
from typing import Any

from tests.lab.cluster import OUTSIDE, Site, Stage, judge
from tests.lab.rehearsal import NAME, Rehearsal

_PATIENCE = "90m"


def _complete(lab: Rehearsal, site: Site) -> None:
    lab.up(site.folder)
    ended = lab.follow(site.folder, _PATIENCE).end()
    assert ended.status == 0, ended.out


def _install(lab: Rehearsal, site: Site) -> None:
    _complete(lab, site)
    judge(lab, site)
    lab.wait("healthy")


def test_three_nodes_share_virtual_addresses(lab: Rehearsal, stage: Stage) -> None:
    """Static addresses, platform baremetal. The API goes on at its address when who holds it loses power."""
    site = stage.build("compact-baremetal", "192.168.10.1")
    _install(lab, site)

    hosts = ("master-1", "master-2", "master-3")
    holder = next(host for host in hosts if "192.168.10.5" in _addresses(lab, site, host))
    lab.run("kill", holder)
    nodes = _nodes(lab, site, "192.168.10.5")
    assert nodes == {*hosts}

    lab.run("power", holder, "on")
    lab.wait(f"reports:{holder}:{lab.boots[holder] + 1}")
    lab.wait("healthy")


def test_three_nodes_and_a_worker(lab: Rehearsal, stage: Stage) -> None:
    """All addresses by DHCP; the worker finds the API at its virtual address."""

    def one_worker(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, "compute": [{**body["compute"][0], "replicas": 1}]}

    def four_hosts(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, "hosts": body["hosts"][:4]}

    def with_leases(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, "services": ["dhcp", "dns"]}

    changes = {"install-config.yaml": one_worker, "agent-config.yaml": four_hosts, "lab.yaml": with_leases}
    _install(lab, stage.build("ha-baremetal-dhcp", "10.20.0.254", changes))


def test_two_nodes_with_an_arbiter_lose_one_and_get_it_back(lab: Rehearsal, stage: Stage) -> None:
    """The disk of a host is gone: a medium of its own makes it a member again, by what the others kept."""
    site, lost = stage.build("two-node-arbiter", "192.168.20.1"), "master-2"
    _install(lab, site)
    before = lab.boots[lost]

    lab.run("kill", lost)
    lab.lose_disks(lost)
    asking = ("agent", "create", "host-image", "--dir", site.folder, "--host", lost, "--key", site.key)
    lab.beside(*asking, *stage.sources)
    lab.run("media", lost, site.folder / f"host-{lost}.x86_64.iso")
    lab.run("power", lost, "on")
    lab.wait(f"reports:{lost}:{before + 2}")  # One from the medium, one from the disk.

    judge(lab, site)
    assert lab.wait("healthy")[lost]["root"] == "disk"
    assert _voters(lab, site) == {"master-1", "master-2", "arbiter-1"}


def test_a_single_node_with_nothing_else_in_the_room(lab: Rehearsal, stage: Stage) -> None:
    """No registry, no name server, no leases: what is not on the medium is nowhere."""
    site = stage.build("single-node-none")
    _complete(lab, site)
    advice = "192.0.2.10 api.shop1.example.com"  # What `wait-for` says of a place without a name server.
    lab.ssh("node1", site.key, "echo", advice, "|", "sudo", "tee", "--append", "/etc/hosts")
    judge(lab, site)
    lab.wait("healthy")


def test_a_single_node_without_ipv4(lab: Rehearsal, stage: Stage) -> None:
    def with_time(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, "services": ["dns", "ntp"]}

    _install(lab, stage.build("single-node-ipv6", "[2001:db8:10::1]", {"lab.yaml": with_time}))


def _addresses(lab: Rehearsal, site: Site, host: str) -> set[str]:
    links = json.loads(lab.ssh(host, site.key, "ip", "-json", "address"))
    return {each["local"] for link in links for each in link["addr_info"]}


def _voters(lab: Rehearsal, site: Site) -> set[str]:
    """The members of etcd that have a vote."""
    pki = "/etc/kubernetes/pki/etcd"
    login = (f"--cacert={pki}/ca.crt", f"--cert={pki}/member.crt", f"--key={pki}/member.key")
    asking = ("sudo", "etcdctl", *login, "member", "list", "--write-out=json")
    found = json.loads(lab.ssh("master-1", site.key, *asking))["members"]
    return {each["name"] for each in found if not each.get("isLearner")}


def _nodes(lab: Rehearsal, site: Site, address: str) -> set[str]:
    """The nodes, as the administrator of the cluster sees them from outside."""
    said = lab.run(
        *("exec", "--lab", NAME, "--", sys.executable, OUTSIDE, site.folder / "auth/kubeconfig", address)
    )
    return {line.split()[0] for line in said.splitlines()}
