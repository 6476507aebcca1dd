# SPDX-License-Identifier: Apache-2.0
"""Frames between ports of a bridge: the packet filter gets those of pods, not those of other bridges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from muster.model.firewall import POD_BRIDGE, RULES_FILE
from muster.release.node.firewall import render_firewall
from muster.release.node.network import network
from tests.clusters import DUAL
from tests.component.agent_steps.site import Host, Site, batch
from tests.component.firewall.test_firewall import ENDS, Ends, Guarded, probe

CLUSTER = replace(DUAL, members=DUAL.members[:1])
SCRIPT = "/usr/local/bin/muster-node-network"
SYSCTL = "/etc/sysctl.d/80-kubernetes.conf"


@pytest.fixture
def site(root: None) -> Iterator[Site]:
    if not Path("/proc/sys/net/bridge").exists():
        pytest.skip("the kernel module br_netfilter is not loaded")
    made = Site()
    yield made
    made.clear()


@pytest.fixture
def node(site: Site, tmp_path: Path) -> Host:
    """A node with its network for pods, its firewall and a bridge for virtual machines."""
    guarded = Guarded(site.add("192.0.2.10/24", "2001:db8::10/64"), tmp_path)
    host = guarded.host
    for file in network(CLUSTER, CLUSTER.first).files:
        guarded.put(file.path, file.data.decode())
    settings = (guarded.root / SYSCTL.lstrip("/")).read_text().splitlines()
    host.run("sysctl", "-qw", *(each.replace(" ", "") for each in settings if each.startswith("net.")))
    guarded.put("/bin/systemd-notify", "#!/bin/sh\n").chmod(0o755)
    inside = ("env", f"MUSTER_ROOT={guarded.root}", f"PATH={guarded.root}/bin:/usr/sbin:/usr/bin:/sbin:/bin")
    for _ in range(2):  # A service that starts again keeps the bridge.
        host.run(*inside, "sh", guarded.root / SCRIPT.lstrip("/"))
    guarded.put(RULES_FILE, render_firewall(CLUSTER, CLUSTER.first))
    assert guarded.load().returncode == 0
    batch(host.namespace, f"link set {POD_BRIDGE} up", "link add br-vm type bridge", "link set br-vm up")
    return host


def plug(node: Host, bridge: str, guest: Host, address: str, gateway: str = "") -> str:
    """Connect a guest with a bridge of a node; its address."""
    port = f"p{guest.namespace[-1]}"
    late = " nodad" if ":" in address else ""
    batch(
        node.namespace,
        f"link add {port} type veth peer name card0 netns {guest.namespace}",
        f"link set {port} master {bridge} up",
    )
    batch(
        guest.namespace,
        "link set eth0 down",
        "link set card0 up",
        f"address add {address} dev card0{late}",
        *([f"route add default via {gateway}"] if gateway else []),
    )
    return address.partition("/")[0]


@pytest.mark.parametrize("ends", ENDS.values(), ids=ENDS)
def test_pods_of_one_node_reach_each_other_by_a_service(ends: Ends, site: Site, node: Host) -> None:
    late = " nodad" if ends.family == "ip6" else ""
    batch(node.namespace, f"address add {ends.gateway} dev {POD_BRIDGE}{late}")
    gateway = ends.gateway.partition("/")[0]
    one, other = site.add(), site.add()
    plug(node, POD_BRIDGE, one, ends.pod, gateway)
    target = plug(node, POD_BRIDGE, other, ends.pod.replace("2/", "3/"), gateway)
    inside = f"[{target}]:8080" if ends.family == "ip6" else f"{target}:8080"
    match = f"{ends.family} daddr {ends.service} tcp dport 80"
    chain = f"chain pre {{\ntype nat hook prerouting priority dstnat\n{match} dnat to {inside}\n}}"
    node.run("nft", f"table {ends.family} kube {{\n{chain}\n}}")
    assert probe(one, target, "tcp/8080") == {"tcp/8080"}
    assert probe(one, ends.service, "tcp/80") == {"tcp/80"}
    batch(node.namespace, f"link set {POD_BRIDGE} type bridge nf_call_iptables 0 nf_call_ip6tables 0")
    assert not probe(one, ends.service, "tcp/80", is_open=False), "the test would not notice"


@pytest.mark.parametrize("addresses", [("10.99.0.2/24", "10.99.0.3/24"), ("fd09::2/64", "fd09::3/64")])
def test_other_bridges_of_a_node_are_not_filtered(addresses: tuple[str, str], site: Site, node: Host) -> None:
    one, other = site.add(), site.add()
    plug(node, "br-vm", one, addresses[0])
    target = plug(node, "br-vm", other, addresses[1])
    assert probe(one, target, "tcp/8080") == {"tcp/8080"}
