# SPDX-License-Identifier: Apache-2.0
"""Sites that look odd and are right: nothing is said about them, and their plan is the one that is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from muster.config.check import check_folder
from muster.config.document.folder import Directory, Memory
from muster.config.manifests import render_manifests
from muster.config.report import render_problems
from muster.config.resolve import resolve_site
from muster.model.plan import Plan
from muster.model.problem import Problem
from muster.model.site import Environment, Site

BASES = Path(__file__).parents[3] / "golden" / "base"
ACI = "cluster-manifests/agent-cluster-install.yaml"
NMSTATE = "cluster-manifests/nmstateconfig.yaml"
AGENT = "agent-config.yaml"
MACHINE = "    machineNetwork:\n    - cidr: 192.0.2.0/24\n"
STORAGE = """\
    - name: eno2
      type: ethernet
      state: up
      ipv4:
        enabled: true
        dhcp: false
        address:
        - ip: 198.51.100.10
          prefix-length: 24
"""

VCENTERS = """\
    vcenters:
    - server: vcenter.example.com
      user: installer
      password: fake
      datacenters:
      - dc1
"""
OLD_LOGIN = """\
    vCenter: vcenter.example.com
    username: installer
    password: fake
    datacenter: dc1
"""

Changes = dict[str, dict[str, str] | None]
"""Texts that are replaced, each of which occurs once, by file; None when the file is not there."""
CASES: dict[str, tuple[str, Changes]] = {
    "manifests without a machine network": ("ztp", {ACI: {MACHINE: ""}}),
    "manifests with an empty machine network": ("ztp", {ACI: {MACHINE: "    machineNetwork: []\n"}}),
    "manifests without a machine network, pods in its default": (
        "ztp",
        {ACI: {MACHINE: "", "cidr: 10.128.0.0/14": "cidr: 10.0.0.0/14"}},
    ),
    "image-based config without apiVersion and kind": (
        "image-based-config",
        {"image-based-config.yaml": {"apiVersion: v1beta1\nkind: ImageBasedConfig\n": ""}},
    ),
    "mirror of the Kubernetes release": (
        "mirror",
        {
            "install-config.yaml": {
                "source: quay.io/openshift-release-dev/ocp-release": "source: muster.local",
                "source: quay.io/openshift-release-dev/ocp-v4.0-art-dev": "source: docker.io",
            }
        },
    ),
    "mirror of the Kubernetes release, and of a part of OpenShift": (
        "mirror",
        {
            "install-config.yaml": {
                "source: quay.io/openshift-release-dev/ocp-release": "source: muster.local/kubernetes"
            }
        },
    ),
    "number with a point": ("compact", {"install-config.yaml": {"  replicas: 3\n": "  replicas: 3.0\n"}}),
    "storage network first": ("single", {AGENT: {"    - name: eno1\n": STORAGE + "    - name: eno1\n"}}),
}


def load(base: str, changes: Changes) -> tuple[Site, list[Problem]]:
    files: dict[str, bytes | None] = {}
    for name, texts in changes.items():
        if texts is None:
            files[name] = None
            continue
        text = (BASES / base / name).read_text("utf-8")
        for old, new in texts.items():
            assert text.count(old) == 1
            text = text.replace(old, new)
        files[name] = text.encode()
    return check_folder(Memory(files, Directory(BASES / base)), Environment())


def check(base: str, changes: Changes) -> Site:
    """The site, when nothing is wrong with it."""
    site, problems = load(base, changes)
    assert render_problems(problems) == render_problems([])
    return site


def plan_of(case: str) -> Plan:
    return resolve_site(check(*CASES[case]))


@pytest.mark.parametrize(("base", "changes"), CASES.values(), ids=CASES.keys())
def test_accepted(base: str, changes: Changes) -> None:
    check(base, changes)


def test_failure_domain_in_the_datacenter_of_an_old_field() -> None:
    changes = {
        VCENTERS: OLD_LOGIN,
        "      server: vcenter.example.com\n": "",
        "        datacenter: dc1\n": "",
    }
    _, problems = load("vsphere", {"install-config.yaml": changes})
    assert {problem.rule.slug for problem in problems} == {"deprecated-field"}


def test_hosts_meet_in_a_machine_network() -> None:
    meeting = plan_of("storage network first").rendezvous
    assert meeting is not None
    assert str(meeting.ip) == "192.0.2.10"


def test_machine_network_of_the_addresses() -> None:
    plan = plan_of("manifests without a machine network")
    assert [str(network) for network in plan.networks.machine] == ["192.0.2.0/24"]


def test_machine_network_that_nobody_knows() -> None:
    plan = resolve_site(check("ztp", {ACI: {MACHINE: ""}, NMSTATE: None}))
    assert plan.networks.machine == ()
    assert "machineNetwork" not in render_manifests(plan)[ACI]
