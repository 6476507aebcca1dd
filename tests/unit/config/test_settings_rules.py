# SPDX-License-Identifier: Apache-2.0
"""`muster check` refuses or warns about every setting that the table calls refused or noted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from muster.config.check import check_folder
from muster.config.document.folder import Directory, Memory
from muster.config.kinds import KINDS as FILES
from muster.config.settings_page import DOCUMENTS
from muster.model.problem import Problem
from muster.model.settings_support import Setting, Support, reported
from muster.model.site import Environment

BASES: Final = Path(__file__).parents[2] / "golden" / "base"
RELEASES: Final = {
    "kubernetes": "muster.local/kubernetes/release:v1.36.2-amd64",
    "openshift": "quay.io/openshift-release-dev/ocp-release:4.22.0-x86_64",
}
HOST: Final = {"name": "master-0", "bootMACAddress": "52:54:00:00:00:01"}
PEER: Final = {"peerAddress": "192.0.2.1", "peerASN": 65000}
SAMPLES: Final[Mapping[str, Any]] = {
    "networking.ovnKubernetesConfig": {"ipv4": {"internalJoinSubnet": "100.99.0.0/16"}},
    "networking.networkObservability": {"installationPolicy": "NoAction"},
    "controlPlane.fencing": {"credentials": [{"hostName": "master-0"}]},
    "controlPlane.diskSetup": [{"type": "etcd", "etcd": {"platformDiskID": "data0"}}],
    "arbiter.diskSetup": [{"type": "swap", "swap": {"platformDiskID": "data0"}}],
    "compute.diskSetup": [{"type": "swap", "swap": {"platformDiskID": "data0"}}],
    "platform.external.cloudControllerManager": "External",
    "platform.vsphere.vcenters": [{"server": "vcenter.example.com"}],
    "platform.vsphere.failureDomains": [{"name": "zone-a"}],
    "platform.vsphere.nodeNetworking": {"external": {"networkSubnetCidr": ["192.0.2.0/24"]}},
    "platform.nutanix.prismCentral": {"username": "admin"},
    "platform.nutanix.prismElements": [{"uuid": "11111111-1111-4111-8111-111111111111"}],
    "platform.nutanix.subnetUUIDs": ["11111111-1111-4111-8111-111111111111"],
    "platform.baremetal.dnsRecordsType": "External",
    "platform.vsphere.dnsRecordsType": "External",
    "platform.nutanix.dnsRecordsType": "External",
    "platform.baremetal.bgpVIPConfig": {"localASN": 65001, "peers": [PEER]},
    "platform.baremetal.hosts.bgpPeers": [PEER],
    "platform.baremetal.hosts.bmc": {"address": "redfish://192.0.2.60/1"},
    "platform.baremetal.provisioningNetwork": "Managed",
    "platform.baremetal.provisioningNetworkInterface": "eno2",
    "platform.baremetal.provisioningNetworkCIDR": "198.51.100.0/24",
    "platform.baremetal.provisioningNetworkGateway": "198.51.100.1",
    "platform.baremetal.provisioningDHCPRange": "198.51.100.10,198.51.100.20",
    "platform.baremetal.clusterProvisioningIP": "198.51.100.2",
    "platform.baremetal.bmcVerifyCA": "-----BEGIN CERTIFICATE-----",
    "proxy": {"httpProxy": "http://proxy.example.com:3128"},
    "fips": True,
    "cpuPartitioningMode": "AllNodes",
    "capabilities": {"baselineCapabilitySet": "None"},
    "featureSet": "TechPreviewNoUpgrade",
    "featureGates": ["ExampleFeature=true"],
    "osImageStream": "rhel-10",
    "pki": {"signerCertificates": {"key": {"algorithm": "RSA", "rsa": {"keySize": 4096}}}},
    "hosts.BMC": {"address": "redfish://192.0.2.60/1"},
    "spec.diskEncryption": {"enableOn": "all", "mode": "tpmv2"},
    "spec.external.cloudControllerManager": "External",
    "spec.proxy": {"httpProxy": "http://proxy.example.com:3128"},
    "spec.controlPlane.hyperthreading": "Disabled",
    "spec.arbiter.hyperthreading": "Disabled",
    "spec.compute.hyperthreading": "Disabled",
    "spec.mastersSchedulable": True,
    "spec.ignitionEndpoint": {"url": "https://ignition.example.com/config"},
    "spec.holdInstallation": True,
    "spec.clusterMetadata": {"clusterID": "11111111-1111-4111-8111-111111111111"},
    "spec.controlPlaneConfig": {"servingCertificates": {"default": "mine"}},
    "spec.certificateBundles": [{"name": "mine"}],
    "spec.ingress": [{"name": "default"}],
    "spec.boundServiceAccountSigningKeySecretRef": {"name": "mine"},
    "spec.installed": True,
    "spec.provisioning": {"imageSetRef": {"name": "mine"}},
    "spec.clusterPoolRef": {"namespace": "pools"},
    "spec.manageDNS": True,
    "spec.preserveOnDelete": True,
    "spec.powerState": "Hibernating",
    "spec.hibernateAfter": "8h",
    "spec.installAttemptsLimit": 3,
    "spec.nmStateConfigLabelSelector.matchExpressions": [{"key": "site", "operator": "Exists"}],
    "spec.ipxeScriptType": "DiscoveryImageAlways",
    "spec.agentLabels": {"site": "one"},
    "spec.agentApproval": {"autoApprove": True},
    "spec.networkDiscoveryDelaySeconds": 60,
}
ROWS: Final = [(kind, row) for document in DOCUMENTS for kind in RELEASES for row in reported(document, kind)]
HARMLESS: Final = [(row, value) for kind, row in ROWS for value in row.harmless if kind == "kubernetes"]


def put(body: dict[str, Any], path: str, value: Any) -> None:
    """Write a value into a document, through the first item of every list."""
    *above, last = path.split(".")
    here: Any = body
    for step in above:
        missing: Any = [{}] if step == "compute" else [{**HOST}] if step == "hosts" else {}
        here = here.setdefault(step, missing)
        here = here[0] if isinstance(here, list) else here
    here[last] = value


def check(row: Setting, value: Any, kind: str) -> list[Problem]:
    """What is found in a site with a value of a setting, for a kind of release."""
    base = BASES / ("compact" if row.document in ("install-config", "agent-config") else "ztp")
    file = FILES[row.document][0]
    body = yaml.safe_load((base / file).read_text("utf-8"))
    put(body, f"{row.path}.{row.switch}" if row.switch and not isinstance(value, dict) else row.path, value)
    folder = Memory({file: yaml.safe_dump(body, sort_keys=False).encode()}, Directory(base))
    _, problems = check_folder(folder, Environment(release_image=RELEASES[kind]))
    return [each for each in problems if each.rule.slug.startswith("setting-") and row.reason in each.message]


@pytest.mark.parametrize(("kind", "row"), ROWS, ids=lambda each: getattr(each, "path", each))
def test_a_setting_that_is_not_done_is_reported(kind: str, row: Setting) -> None:
    found = check(row, SAMPLES[row.path], kind)
    wanted = "setting-refused" if row.support[kind] is Support.REFUSED else "setting-without-effect"
    assert [each.rule.slug for each in found] == [wanted]
    assert row.path.rpartition(".")[2] in found[0].message
    assert found[0].fix.startswith(row.fix[:-10])


@pytest.mark.parametrize(("row", "value"), HARMLESS, ids=lambda each: getattr(each, "path", each))
def test_a_value_that_asks_for_nothing_is_accepted(row: Setting, value: Any) -> None:
    assert check(row, value, "kubernetes") == []


def test_what_openshift_gets_is_not_reported() -> None:
    passed = [
        row
        for document in DOCUMENTS
        for row in reported(document, "kubernetes")
        if row.support["openshift"] is Support.PASSED_ON
    ]
    assert {"fips", "controlPlane.fencing", "capabilities"} <= {row.path for row in passed}
    for row in passed:
        assert check(row, SAMPLES[row.path], "openshift") == [], row


def test_hosts_get_kubernetes_where_no_release_is_named() -> None:
    install = yaml.safe_load((BASES / "compact" / "install-config.yaml").read_text("utf-8"))
    folder = Memory(
        {"install-config.yaml": yaml.safe_dump({**install, "fips": True}).encode()},
        Directory(BASES / "compact"),
    )

    def slugs(environment: Environment) -> set[str]:
        return {each.rule.slug for each in check_folder(folder, environment)[1]}

    assert "setting-refused" in slugs(Environment())
    assert "setting-refused" not in slugs(Environment(release_kind="openshift"))
    assert "setting-refused" not in slugs(Environment(has_base_image=True))
    unknown = "registry.example.com/site/release@sha256:" + 64 * "0"
    assert "setting-refused" not in slugs(Environment(release_image=unknown))
    assert "setting-refused" in slugs(Environment(release_image=unknown, release_kind="kubernetes"))
