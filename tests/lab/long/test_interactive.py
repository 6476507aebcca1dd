# SPDX-License-Identifier: Apache-2.0
"""Without files of a site: a generic ISO, the console of the machine, and a browser beside it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tests.lab.cluster import OUTSIDE, Stage, edit_yaml
from tests.lab.rehearsal import NAME, Rehearsal

HOST = "node1"


def test_a_cluster_is_made_in_a_browser(lab: Rehearsal, stage: Stage) -> None:
    site = _machines_and_medium(stage)
    lab.up(site, "--iso", next(site.glob("*.iso")))
    lab.wait(f"serial:{HOST}:Where do the hosts meet")
    lab.type(HOST, "1")
    lab.wait(f"serial:{HOST}:This is the rendezvous host")
    lab.type(HOST, "y")
    lab.wait(f"serial:{HOST}:login +code")

    lab.run(
        *("exec", "--lab", NAME, "--", sys.executable, "-m", "tests.lab.browse"),
        *(_shown(lab, r"service +(https://\S+)"), _shown(lab, r"login +code (\d{4} \d{4})"), site),
    )

    address = _shown(lab, r"service +https://([\d.]+):")
    command = (sys.executable, OUTSIDE, site / "kubeconfig", address)
    said = lab.run("exec", "--lab", NAME, "--", *command)
    assert [line.split()[1] for line in said.splitlines()] == ["Ready"]


def _machines_and_medium(stage: Stage) -> Path:
    """A machine that is given a lease, and the ISO that is the same for every site; no registry."""
    site = stage.lay("single-node-none")
    edit_yaml(site / "lab.yaml", lambda body: {**body, "services": ["dhcp"]})
    generic = stage.desk / "generic"
    generic.mkdir()
    stage.create(generic, "unconfigured-image", "--embed-release")
    next(generic.glob("*.iso")).rename(site / "generic.iso")
    return site


def _shown(lab: Rehearsal, pattern: str) -> str:
    """What the console of the machine showed last."""
    *_, last = re.finditer(pattern, lab.run("logs", HOST, "--lab", NAME))
    return last[1]
