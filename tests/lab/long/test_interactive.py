# SPDX-License-Identifier: Apache-2.0
"""Without files of a site: a generic ISO, the console of the machine, and a browser beside it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tests.lab.cluster import OUTSIDE, Stage, edit_yaml
from tests.lab.rehearsal import NAME, Rehearsal


def test_a_cluster_is_made_in_a_browser(lab: Rehearsal, stage: Stage) -> None:
    site, host = _machines_and_medium(stage, "single-node-none"), "node1"
    lab.up(site, "--iso", site / "generic.iso")
    _choose(lab, host)

    _browse(lab, host, site)

    address = _shown(lab, host, r"service +https://([\d.]+):")
    command = (sys.executable, OUTSIDE, site / "kubeconfig", address)
    said = lab.run("exec", "--lab", NAME, "--", *command)
    assert [line.split()[1] for line in said.splitlines()] == ["Ready"]


def test_a_host_joins_by_the_code_of_another(lab: Rehearsal, stage: Stage) -> None:
    """It finds the other by itself, and joins it with the right code alone."""
    site, host, other = _machines_and_medium(stage, "ha-baremetal-dhcp"), "master-1", "master-2"
    lab.up(site, "--iso", site / "generic.iso", "--only", host, "--only", other)
    _choose(lab, host)
    address = _shown(lab, host, r"service +https://([\d.]+):")
    code = _shown(lab, host, r"join code (\w{5}-\w{5})")

    lab.wait(f"serial:{other}:Join \\S+ at {address}")
    lab.type(other, _shown(lab, other, rf"(\d)  Join \S+ at {address}"))
    lab.wait(f"serial:{other}:Join a rendezvous host")
    lab.type(other, f"{code[::-1]}\r")
    lab.wait(f"serial:{other}:does not have this code")
    lab.type(other, "\x7f" * len(code) + f"{code}\r")
    lab.wait(f"serial:{other}:this host joined the rendezvous host at {address}")

    _browse(lab, host, site, "2")
    assert _shown(lab, other, r"join code (\w{5}-\w{5})") == code


def _machines_and_medium(stage: Stage, example: str) -> Path:
    """Machines that are given leases, and the ISO that is the same for every site; no registry."""
    site = stage.lay(example)
    edit_yaml(site / "lab.yaml", lambda body: {**body, "services": ["dhcp"]})
    generic = stage.desk / "generic"
    generic.mkdir()
    stage.create(generic, "unconfigured-image", "--embed-release")
    next(generic.glob("*.iso")).rename(site / "generic.iso")
    return site


def _choose(lab: Rehearsal, host: str) -> None:
    """Say on its console that it is the rendezvous host."""
    lab.wait(f"serial:{host}:Where do the hosts meet")
    lab.type(host, "1")
    lab.wait(f"serial:{host}:This is the rendezvous host")
    lab.type(host, "y")
    lab.wait(f"serial:{host}:login +code")


def _browse(lab: Rehearsal, host: str, folder: Path, *more: str) -> None:
    """Do in a browser what `tests.lab.browse` does, with what the console shows."""
    url, code = _shown(lab, host, r"service +(https://\S+)"), _shown(lab, host, r"login +code (\w{5} \w{5})")
    lab.run("exec", "--lab", NAME, "--", sys.executable, "-m", "tests.lab.browse", url, code, folder, *more)


def _shown(lab: Rehearsal, host: str, pattern: str) -> str:
    """What the console of a machine showed last."""
    *_, last = re.finditer(pattern, lab.run("logs", host, "--lab", NAME))
    return last[1]
