# SPDX-License-Identifier: Apache-2.0
"""A host without any medium boots from the network: kernel, initial RAM disk, root file system."""

from __future__ import annotations

import shutil
from pathlib import Path

import yaml

from tests.lab.rehearsal import Rehearsal, answers, create, ignition, on_link, save_json, save_yaml

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def test_a_host_boots_from_the_network(lab: Rehearsal, desk: Path, machine_os: Path) -> None:
    """BIOS; the root file system is fetched with the host's static address."""
    site = desk / "site"
    shutil.copytree(EXAMPLES / "single-node-none", site)
    config = site / "agent-config.yaml"
    body = yaml.safe_load(config.read_text("utf-8"))
    save_yaml(config, {**body, "bootArtifactsBaseURL": "http://192.0.2.80/boot"})
    save_yaml(site / "lab.yaml", {"medium": "pxe", "services": ["dhcp"]})
    ign = save_json(desk / "checks.ign", ignition(checks={"reach": answers("192.0.2.1")}))
    create(
        site,
        "pxe-files",
        "--release-by-tag",
        "--base-image",
        machine_os / "live.iso",
        "--ignition-override",
        ign,
    )

    lab.up(site)
    report = lab.wait("healthy")["node1"]

    assert report["root"] == "live"
    assert report["ignition"]["ran"]
    assert "coreos.live.rootfs_url=http://192.0.2.80/boot/" in report["kernelArguments"]
    assert report["hostname"] == "node1"
    assert report["macs"][on_link(report, "192.0.2.10/24")] == "52:54:00:a1:00:01"
