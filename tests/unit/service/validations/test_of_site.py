# SPDX-License-Identifier: Apache-2.0
"""The validations on the files of a site: silent about good ones, and exact about the cause of the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from muster.config.check import check_folder, is_valid
from muster.config.document.folder import Directory, Memory
from muster.config.resolve import resolve_site
from muster.model.site import Environment
from muster.service.validations.of_site import Finding, judge_site
from muster.service.validations.places import PLACES
from muster.service.validations.registry import CLUSTER

EXAMPLES = Path(__file__).parents[4] / "examples"
SECOND = """\
        - name: eno2
          type: ethernet
          state: up
          ipv4:
            enabled: true
            dhcp: false
            address:
              - ip: 192.168.10.99
                prefix-length: 25
      dns-resolver:"""
INSTALL, AGENT = "install-config.yaml", "agent-config.yaml"


def judge(example: str, *changes: tuple[str, str, str]) -> tuple[Finding, ...]:
    """What is said of an example after changes: file, what is there, what is put in its place."""
    below = Directory(EXAMPLES / example)
    files: dict[str, bytes | None] = {}
    for name, old, new in changes:
        text = (files.get(name) or below.read(name)).decode()
        assert old in text
        files[name] = text.replace(old, new).encode()
    site, _ = check_folder(Memory(files, below), Environment())
    return judge_site(site, resolve_site(site))


def _clusters() -> list[str]:
    found = []
    for path in sorted(EXAMPLES.iterdir()):
        if path.is_dir():
            site, problems = check_folder(Directory(path), Environment())
            if site.install is not None and is_valid(problems):
                found.append(path.name)
    return found


@pytest.mark.parametrize("example", _clusters())
def test_nothing_is_said_of_good_sites(example: str) -> None:
    assert judge(example) == ()


@pytest.mark.parametrize(
    ("change", "id", "line"),
    [
        (
            (INSTALL, "cidr: 192.168.10.0/24", "cidr: 192.168.0.0/16"),
            "machine-cidr-equals-to-calculated-cidr",
            "machineNetwork",
        ),
        ((INSTALL, "- 192.168.10.5", "- 192.168.11.5"), "api-vips-valid", "apiVIPs"),
        ((INSTALL, "- 192.168.10.6", "- 192.168.10.255"), "ingress-vips-valid", "ingressVIPs"),
        ((INSTALL, "- 172.30.0.0/16", "- 10.129.0.0/16"), "no-cidrs-overlapping", "networking"),
        ((INSTALL, "- 172.30.0.0/16", "- 2001:db8::/112"), "networks-same-address-families", "networking"),
        ((INSTALL, "hostPrefix: 23", "hostPrefix: 15"), "network-prefix-valid", "clusterNetwork"),
        (
            (INSTALL, "networkType: OVNKubernetes", "networkType: Calico"),
            "custom-manifests-requirements-satisfied",
            "networkType",
        ),
        ((INSTALL, "replicas: 3", "replicas: 2"), "sufficient-masters-count", "replicas"),
        ((AGENT, "ip: 192.168.10.12", "ip: 192.168.30.12"), "belongs-to-machine-cidr", "networkConfig"),
        ((AGENT, "hostname: master-2", "hostname: master-1"), "hostname-unique", "hostname"),
        ((AGENT, "      dns-resolver:", SECOND), "non-overlapping-subnets", "networkConfig"),
        ((AGENT, "destination: 0.0.0.0/0", "destination: 10.0.0.0/8"), "has-default-route", "networkConfig"),
    ],
)
def test_a_mistake_is_found_with_its_place(change: tuple[str, str, str], id: str, line: str) -> None:
    found = {each.id: each for each in judge("compact-baremetal", change)}
    assert id in found
    place = found[id].place
    assert place is not None
    assert place.source.name == change[0]
    assert line in place.source.text.splitlines()[place.line - 1]
    assert found[id].why.endswith(".")
    assert found[id].fix


def test_what_dhcp_may_bring_is_not_missed() -> None:
    elsewhere = (AGENT, "ip: 192.168.10.12", "ip: 192.168.30.12")
    dhcp = (AGENT, "dhcp: false", "dhcp: true")
    assert not any(
        each.id == "belongs-to-machine-cidr" for each in judge("compact-baremetal", elsewhere, dhcp)
    )


def test_a_finding_names_whom_it_is_about() -> None:
    found = judge("compact-baremetal", (AGENT, "ip: 192.168.10.12", "ip: 192.168.30.12"))
    assert [(each.of, each.subject) for each in found] == [("host", "master-2")]
    assert "192.168.30.12" in found[0].message


def test_every_validation_of_clusters_has_a_place_or_none_in_files() -> None:
    assert PLACES.keys() == CLUSTER.keys()


def test_secrets_are_not_in_what_is_said() -> None:
    found = judge("compact-baremetal", (INSTALL, "- 192.168.10.5", "- 192.168.11.5"))
    assert all("ZmFrZTpmYWtl" not in repr(each.verdict) for each in found)
