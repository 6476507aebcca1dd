# SPDX-License-Identifier: Apache-2.0
"""Clusters at the edge of what the rules allow: nothing is said about them."""

from __future__ import annotations

from pathlib import Path

import pytest

from muster.config.check import check_folder
from muster.config.document.folder import Directory, Memory
from muster.config.report import render_problems
from muster.model.site import Environment

BASES = Path(__file__).parents[3] / "golden" / "base"
PULL = "pullSecret: "
NETWORKS = "networking:\n  machineNetwork:\n  - cidr: 192.0.2.0/24\n"
DUAL = """\
networking:
  machineNetwork:
  - cidr: 2001:db8::/64
  - cidr: 192.0.2.0/24
  clusterNetwork:
  - cidr: 2001:db8:2::/48
    hostPrefix: 64
  - cidr: 10.128.0.0/14
    hostPrefix: 23
  serviceNetwork:
  - 2001:db8:3::/112
  - 172.30.0.0/16
"""
API, INGRESS = "    apiVIPs:\n    - 192.0.2.5\n", "    ingressVIPs:\n    - 192.0.2.6\n"
USER_MANAGED = "    loadBalancer:\n      type: UserManaged\n"
FENCING = """\
  replicas: 2
  fencing:
    credentials:
    - hostName: master-0
      address: redfish+https://192.0.2.60/redfish/v1/Systems/1
      username: admin
      password: fake
    - macAddress: 52:54:00:00:00:11
      address: https://192.0.2.61/redfish/v1/Systems/1
      username: admin
      password: fake
"""

Changes = dict[str, str]
CASES: dict[str, tuple[str, Changes]] = {
    "name with dots on platform none": ("single", {"name: site1": "name: site1.north"}),
    "name of 54 characters": ("unlisted", {"name: site1": "name: " + "a" * 54}),
    "four masters": ("unlisted", {"replicas: 3": "replicas: 4"}),
    "two masters with an arbiter": (
        "unlisted",
        {"replicas: 3": "replicas: 2", "compute:\n": "arbiter:\n  replicas: 1\ncompute:\n"},
    ),
    "two masters with fencing": ("unlisted", {"  replicas: 3\n": FENCING}),
    "arm64 workers of an amd64 control plane": (
        "unlisted",
        {"  replicas: 0\n": "  replicas: 2\n  architecture: arm64\n"},
    ),
    "architecture of the control plane only": (
        "unlisted",
        {"  replicas: 3\n": "  replicas: 3\n  architecture: arm64\n"},
    ),
    "plugin in openshift/": ("external", {"networking:\n": "networking:\n  networkType: Calico\n"}),
    "no hostPrefix with another plugin": (
        "external",
        {"networking:\n": "networking:\n  networkType: Calico\n  clusterNetwork:\n  - cidr: 10.128.0.0/14\n"},
    ),
    "join network moved away": (
        "unlisted",
        {
            "networking:\n": "networking:\n  serviceNetwork:\n  - 100.64.0.0/16\n"
            "  ovnKubernetesConfig:\n    ipv4:\n      internalJoinSubnet: 100.65.0.0/16\n"
        },
    ),
    "IPv6 first": (
        "unlisted",
        {
            NETWORKS: DUAL,
            API: "    apiVIPs:\n    - 2001:db8::5\n    - 192.0.2.5\n",
            INGRESS: "    ingressVIPs:\n    - 2001:db8::6\n    - 192.0.2.6\n",
        },
    ),
    "one VIP each in a cluster of both families": (
        "unlisted",
        {NETWORKS: DUAL, "- 192.0.2.5": "- 2001:db8::5", "- 192.0.2.6": "- 2001:db8::6"},
    ),
    "hosts with a family that the cluster does not use": (
        "external",
        {NETWORKS: NETWORKS + "  - cidr: 2001:db8::/64\n"},
    ),
    "load balancer of the user's, elsewhere": (
        "unlisted",
        {API: USER_MANAGED + API.replace("192.0.2.5", "198.51.100.5")},
    ),
    "load balancer of the user's, one address": (
        "unlisted",
        {API: USER_MANAGED + API, "192.0.2.6": "192.0.2.5"},
    ),
    "no ingress on a set without it": (
        "unlisted",
        {
            PULL: "capabilities:\n  baselineCapabilitySet: v4.15\n"
            "  additionalEnabledCapabilities:\n  - Ingress\n" + PULL
        },
    ),
    "gate switched on by name": (
        "unlisted",
        {
            PULL: "featureSet: CustomNoUpgrade\nfeatureGates:\n- ConfigurablePKI=true\n"
            "pki:\n  signerCertificates:\n    key:\n      algorithm: RSA\n      rsa:\n        keySize: 4096\n"
            + PULL
        },
    ),
}


@pytest.mark.parametrize(("base", "changes"), CASES.values(), ids=CASES.keys())
def test_accepted(base: str, changes: Changes) -> None:
    text = (BASES / base / "install-config.yaml").read_text("utf-8")
    for old, new in changes.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    folder = Memory({"install-config.yaml": text.encode()}, Directory(BASES / base))
    _, problems = check_folder(folder, Environment())
    mine = [problem for problem in problems if problem.rule.id[:3] in ("MC2", "MC3")]
    assert render_problems(mine) == render_problems([])
