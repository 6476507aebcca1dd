# SPDX-License-Identifier: Apache-2.0
"""Hosts boot one ISO and become a cluster, and nobody does anything but wait."""

from __future__ import annotations

from tests.lab.cluster import Site, Stage, judge
from tests.lab.rehearsal import Rehearsal, on_link

FAR = "198.51.100.7"
"""An address of the lab that is in no network of the machines."""
OPEN_TO_ALL = {"tcp/22", "tcp/80", "tcp/6443", "tcp/30000"}
OPENED = OPEN_TO_ALL | {"tcp/10250"}
"""To the network of the machines, which the lab is in, too."""
MEMBERS_ONLY = ("tcp/2379", "tcp/2380")
CLOSED = (
    *MEMBERS_ONLY,
    *("tcp/111", "tcp/2381", "tcp/8080", "tcp/8091", "tcp/10248", "tcp/10249", "tcp/10257", "tcp/10259"),
)
SSHD = {
    "x11forwarding no",
    "passwordauthentication no",
    "kbdinteractiveauthentication no",
    "permitrootlogin no",
    "allowagentforwarding no",
    "maxauthtries 4",
}
SYSCTL = {
    "kernel.kptr_restrict": "2",
    "kernel.dmesg_restrict": "1",
    "net.ipv4.conf.all.accept_redirects": "0",
    "net.ipv4.conf.cni0.accept_redirects": "0",
    "net.ipv4.conf.default.rp_filter": "2",
    "net.ipv4.ip_forward": "1",
}


def test_a_host_becomes_a_cluster(lab: Rehearsal, stage: Stage) -> None:
    """BIOS, a static address; all images from a registry in the room. It is one after a restart, too."""
    site = stage.build("single-node-none", "192.0.2.1")

    lab.up(site.folder)
    told = lab.beside("agent", "wait-for", "install-complete", "--dir", site.folder, "--timeout", "20m")
    assert "shop1.example.com is installed" in told
    judge(lab, site)
    lab.wait("healthy")
    lab.restart("node1", site.key)
    report = lab.wait("healthy")["node1"]

    assert report["root"] == "disk"
    assert report["checks"]["cluster"] == {"passed": True, "said": "ready: node1"}
    assert report["failedUnits"] == []
    assert report["macs"][on_link(report, "192.0.2.10/24")] == "52:54:00:a1:00:01"
    assert {"cni0"} <= {*report["addresses"]}
    check_hardening(lab, site)


def check_hardening(lab: Rehearsal, site: Site) -> None:
    """Nothing answers but what the table of ports opens; sshd and the kernel are set as they should be."""
    assert lab.answering("192.0.2.10", *OPENED, seconds=60) == OPENED
    assert lab.answering("192.0.2.10", *CLOSED, seconds=5) == set()
    assert lab.answering("192.0.2.10", *OPEN_TO_ALL, seconds=60, source=FAR) == OPEN_TO_ALL
    assert lab.answering("192.0.2.10", "tcp/10250", "tcp/10256", "tcp/9100", seconds=5, source=FAR) == set()
    assert {*lab.ssh("node1", site.key, "sudo", "sshd", "-T").splitlines()} >= SSHD
    assert lab.ssh("node1", site.key, "sudo", "sysctl", "-n", *SYSCTL).split() == [*SYSCTL.values()]

    put = "'echo nonsense | sudo tee /etc/muster/firewall.d/50-site.nft'"
    lab.ssh("node1", site.key, "sudo", "mkdir", "-p", "/etc/muster/firewall.d")
    lab.ssh("node1", site.key, "sh", "-c", put)
    restart = "'sudo systemctl restart muster-firewall; systemctl is-active muster-firewall || true'"
    assert lab.ssh("node1", site.key, "sh", "-c", restart).split() == ["failed"]
    assert "50-site.nft" in lab.ssh("node1", site.key, "cat", "/run/muster/firewall.json")
    assert lab.answering("192.0.2.10", *OPENED, seconds=60) == OPENED
    assert lab.answering("192.0.2.10", *CLOSED, seconds=5) == set()
