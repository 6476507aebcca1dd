# SPDX-License-Identifier: Apache-2.0
"""Hosts boot one ISO and become a cluster, and nobody does anything but wait."""

from __future__ import annotations

from pathlib import Path

from muster.release.look import choose_release, load_release
from muster.release.store.store import open_store
from tests.lab.cluster import build_site, judge
from tests.lab.rehearsal import Rehearsal, create, on_link


def test_a_host_becomes_a_cluster(lab: Rehearsal, desk: Path, machine_os: Path, release_store: Path) -> None:
    """BIOS, a static address; all images from a registry in the room. It is one after a restart, too."""
    store = open_store(release_store)
    pause = load_release(store, choose_release(store, "", "amd64")).image("pause").pullspec
    site = desk / "site"
    key = build_site(site, "single-node-none", release_store, pause)
    create(site, "image", "--base-image", machine_os / "live.iso", "--release", f"oci:{release_store}")

    lab.up(site)
    told = lab.beside("agent", "wait-for", "install-complete", "--dir", site, "--timeout", "20m")
    assert "shop1.example.com is installed" in told
    judge(lab, site, key)
    lab.wait("healthy")
    lab.restart("node1", key)
    report = lab.wait("healthy")["node1"]

    assert report["root"] == "disk"
    assert report["checks"]["cluster"] == {"passed": True, "said": "ready: node1"}
    assert report["failedUnits"] == []
    assert report["macs"][on_link(report, "192.0.2.10/24")] == "52:54:00:a1:00:01"
    assert {"cni0"} <= {*report["addresses"]}
