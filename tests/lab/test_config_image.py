# SPDX-License-Identifier: Apache-2.0
"""A host that booted without knowing its site is told later, while it runs."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.lab.rehearsal import Rehearsal, answers, create, ignition, on_link, save_json, save_yaml

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def test_a_running_host_takes_its_configuration(lab: Rehearsal, desk: Path, machine_os: Path) -> None:
    """BIOS, USB stick; the configuration is on a second one."""
    site, generic = desk / "site", desk / "generic"
    shutil.copytree(EXAMPLES / "single-node-none", site)
    save_yaml(site / "lab.yaml", {"medium": "usb"})
    generic.mkdir()
    checks = {
        "hinted": "#!/bin/sh\ntest -b /dev/disk/by-path/pci-0000:00:17.0-ata-1\n",
        "named": '#!/bin/sh\ntest "$(cat /proc/sys/kernel/hostname)" = node1\n',
        "reach": answers("192.0.2.1"),
        "released": "#!/bin/sh\ngrep -h '^NODE_ZERO_IP=' /etc/assisted/rendezvous-host.env\n",
    }
    ign = save_json(desk / "checks.ign", ignition(checks=checks))
    create(
        generic,
        "unconfigured-image",
        "--release-by-tag",
        "--base-image",
        machine_os / "live.iso",
        "--ignition-override",
        ign,
    )
    create(site, "config-image", "--release-by-tag")

    lab.up(site, "--iso", generic / "agent-unconfigured.x86_64.iso")
    before = lab.wait("reports:node1:1")["node1"]
    assert before["state"] == "running"
    assert [name for name, result in before["checks"].items() if result["passed"]] == ["hinted"]
    assert not on_link(before, "192.0.2.10/24")

    lab.run("media", "node1", site / "agentconfig.noarch.iso", "--beside")
    after = lab.wait("healthy")["node1"]
    assert after["bootId"] == before["bootId"]
    assert after["hostname"] == "node1"
    assert after["macs"][on_link(after, "192.0.2.10/24")] == "52:54:00:a1:00:01"
    assert after["checks"]["released"]["said"] == "NODE_ZERO_IP=192.0.2.10"
