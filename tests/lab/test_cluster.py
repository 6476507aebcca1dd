# SPDX-License-Identifier: Apache-2.0
"""Hosts boot one ISO and become a cluster, and nobody does anything but wait."""

from __future__ import annotations

from tests.lab.cluster import Stage, judge
from tests.lab.rehearsal import Rehearsal, on_link


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
