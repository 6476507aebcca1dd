# SPDX-License-Identifier: Apache-2.0
"""The annotation with parts of install-config.yaml: only what its reader takes, and the same plan again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from muster.config.check import check_folder, is_valid
from muster.config.describe import walk_fields
from muster.config.document.folder import Directory, Memory
from muster.config.document.parse import parse_yaml
from muster.config.manifests import render_manifests
from muster.config.overrides import KNOWN, overrides_of
from muster.config.report import render_problems
from muster.config.resolve import resolve_site
from muster.model.install_config import InstallConfig
from muster.model.manifests.agent_cluster_install import OVERRIDES_ANNOTATION
from muster.model.plan import Plan
from muster.model.site import Environment
from muster.model.tree import Source, to_plain, words_of

BASES = Path(__file__).parent.parent.parent / "golden" / "base"


def resolve(folder: Memory) -> Plan:
    site, problems = check_folder(folder, Environment(release_kind="openshift"))
    assert is_valid(problems), render_problems(problems)
    return resolve_site(site)


class Case:
    """A base site with changes in install-config.yaml."""

    def __init__(self, base: str, **changes: Any) -> None:
        folder = Directory(BASES / base)
        documents, _ = parse_yaml(Source("", (BASES / base / "install-config.yaml").read_text()))
        install: Any = to_plain(documents[0])
        for path, value in changes.items():
            *above, last = path.split("__")
            place = install
            for key in above:
                place = place.setdefault(key, {})
            if value is None:
                del place[last]
            else:
                place[last] = value
        text = json.dumps(install)
        files: dict[str, bytes | None] = {"install-config.yaml": text.encode()}
        self.plan = resolve(Memory(files, folder))
        manifests = {name: text.encode() for name, text in render_manifests(self.plan).items()}
        aci = yaml.safe_load(manifests["cluster-manifests/agent-cluster-install.yaml"])
        self.spec = aci["spec"]
        annotations = aci["metadata"].get("annotations", {})
        self.body = json.loads(annotations.get(OVERRIDES_ANNOTATION, "{}"))
        self.left_out = [words_of(path) for path in overrides_of(self.plan).left_out]
        assert resolve(Memory({**files, **manifests}, folder)) == self.plan
        alone = Memory({**manifests, "install-config.yaml": None}, folder)
        self.gives_the_same_plan = resolve(alone) == self.plan


def test_keys_that_the_reader_refuses() -> None:
    case = Case(
        "compact",
        networking__ovnKubernetesConfig={"ipv4": {"internalJoinSubnet": "100.70.0.0/16"}},
        controlPlane__diskSetup=[{"type": "etcd", "etcd": {"platformDiskID": "data0"}}],
        pki={"signerCertificates": {"key": {"algorithm": "RSA", "rsa": {"keySize": 4096}}}},
        featureSet="TechPreviewNoUpgrade",
    )
    assert case.body == {"featureSet": "TechPreviewNoUpgrade"}
    assert sorted(case.left_out) == ["controlPlane.diskSetup", "networking.ovnKubernetesConfig", "pki"]


def test_defaults_are_no_news() -> None:
    case = Case(
        "compact",
        fips=False,
        additionalTrustBundlePolicy="Proxyonly",
        osImageStream="rhel-9",
        controlPlane__management="MachineAPI",
        platform__baremetal__dnsRecordsType="Internal",
    )
    assert (case.body, case.left_out) == ({}, [])
    assert case.plan == Case("compact").plan
    assert Case("compact", osImageStream="rhel-10").body == {"osImageStream": "rhel-10"}


def test_an_external_platform_without_a_controller() -> None:
    case = Case("external", platform__external={"platformName": "lab", "cloudControllerManager": ""})
    assert case.body == {"platform": {"external": {"platformName": "lab"}}}
    assert case.spec["external"] == {"platformName": "lab"}
    assert case.gives_the_same_plan


def test_network_plugins() -> None:
    unknown = Case("compact", networking__networkType="Contrail")
    assert unknown.spec["networking"]["networkType"] == "OVNKubernetes"
    assert unknown.body["networking"] == {
        "clusterNetwork": [{"cidr": "10.128.0.0/14", "hostPrefix": 23}],
        "machineNetwork": [{"cidr": "192.0.2.0/24"}],
        "networkType": "Contrail",
        "serviceNetwork": ["172.30.0.0/16"],
    }
    assert unknown.gives_the_same_plan
    known = Case("compact", networking__networkType="Calico")
    assert known.spec["networking"]["networkType"] == "Calico"
    assert known.body == {}
    assert known.gives_the_same_plan


def test_old_fields_of_vsphere() -> None:
    old = {
        "vCenter": "vcenter.example.com",
        "username": "installer",
        "password": "fake",
        "datacenter": "dc1",
        "cluster": "cluster1",
        "defaultDatastore": "store1",
        "folder": "/dc1/vm/site1",
        "network": "VM Network",
    }
    vips = {"apiVIP": "192.0.2.5", "ingressVIP": "192.0.2.6"}
    case = Case("vsphere", platform__vsphere={**vips, **old})
    topology = {
        "datacenter": "dc1",
        "computeCluster": "/dc1/host/cluster1",
        "networks": ["VM Network"],
        "datastore": "/dc1/datastore/store1",
        "folder": "/dc1/vm/site1",
    }
    assert case.body["platform"]["vsphere"] == {
        "vcenters": [
            {
                "server": "vcenter.example.com",
                "user": "installer",
                "password": "fake",
                "datacenters": ["dc1"],
            }
        ],
        "failureDomains": [
            {
                "name": "generated-failure-domain",
                "region": "generated-region",
                "zone": "generated-zone",
                "server": "vcenter.example.com",
                "topology": topology,
            }
        ],
    }
    assert case.gives_the_same_plan


def test_failure_domains_of_an_old_vcenter() -> None:
    topology = {"computeCluster": "cluster1", "datastore": "s1", "folder": "f1", "networks": ["VM Network"]}
    domain = {"name": "a", "region": "r", "zone": "z", "topology": {"datacenter": "dc2", **topology}}
    login = {"vCenter": "vc.example.com", "username": "u", "password": "p", "datacenter": "dc1"}
    vips = {"apiVIPs": ["192.0.2.5"], "ingressVIPs": ["192.0.2.6"]}
    found = Case("vsphere", platform__vsphere={**vips, **login, "failureDomains": [domain]})
    section = found.body["platform"]["vsphere"]
    assert section["vcenters"][0]["datacenters"] == ["dc1", "dc2"]
    assert section["failureDomains"][0]["server"] == "vc.example.com"
    assert section["failureDomains"][0]["topology"]["computeCluster"] == "/dc2/host/cluster1"
    assert found.gives_the_same_plan


def test_failure_domains_without_a_vcenter_have_no_effect() -> None:
    assert (
        Case("vsphere", platform__vsphere__vcenters=None, platform__vsphere__failureDomains=None).body == {}
    )


def bmc_case(*, host: dict[str, Any] | None = None, **provisioning: Any) -> Case:
    hosts: list[dict[str, Any]] = [
        {
            "name": f"master-{index}",
            "role": "master",
            "bootMACAddress": f"52:54:00:00:00:1{index}",
            "bmc": {
                "address": f"redfish-virtualmedia+https://192.0.2.6{index}/redfish/v1/Systems/1",
                "username": "admin",
                "password": "fake",
            },
        }
        for index in range(3)
    ]
    hosts[0] |= host or {}
    vips = {"apiVIPs": ["192.0.2.5"], "ingressVIPs": ["192.0.2.6"]}
    return Case("bmc", platform__baremetal={**vips, **provisioning, "hosts": hosts})


def test_provisioning_follows_the_installer() -> None:
    managed = bmc_case()
    found = managed.body["platform"]["baremetal"]
    assert found["provisioningNetwork"] == "Managed"
    assert found["provisioningNetworkCIDR"] == "172.22.0.0/24"
    assert found["clusterProvisioningIP"] == "172.22.0.3"
    assert found["provisioningDHCPRange"] == "172.22.0.10,172.22.0.254"
    assert managed.gives_the_same_plan
    old = bmc_case(provisioningDHCPExternal=True, provisioningHostIP="172.22.0.9")
    assert old.body["platform"]["baremetal"]["provisioningNetwork"] == "Unmanaged"
    assert old.body["platform"]["baremetal"]["clusterProvisioningIP"] == "172.22.0.9"
    assert old.gives_the_same_plan
    disabled = bmc_case(provisioningNetwork="Disabled", clusterProvisioningIP="192.0.2.7")
    found = disabled.body["platform"]["baremetal"]
    assert found["provisioningNetworkCIDR"] == "192.0.2.0/24"
    assert "provisioningDHCPRange" not in found
    assert disabled.gives_the_same_plan
    gateway = bmc_case(provisioningNetworkGateway="172.22.0.1")
    assert gateway.left_out == ["platform.baremetal.provisioningNetworkGateway"]
    assert Case("compact", platform__baremetal__provisioningNetwork="Disabled").body == {}


def test_hosts_of_install_config() -> None:
    card = {"name": "eno1", "type": "ethernet", "mac-address": "52:54:00:00:00:99", "state": "up"}
    address = {"enabled": True, "address": [{"ip": "192.0.2.10", "prefix-length": 24}]}
    network = bmc_case(host={"networkConfig": {"interfaces": [{**card, "ipv4": address}]}})
    assert network.gives_the_same_plan
    assert network.left_out == []
    disk = bmc_case(host={"rootDeviceHints": {"deviceName": "/dev/sda"}, "hardwareProfile": "default"})
    first = disk.body["platform"]["baremetal"]["hosts"][0]
    assert set(first) == {"name", "role", "bootMACAddress", "bmc", "hardwareProfile"}
    assert disk.left_out == ["platform.baremetal.hosts[0].rootDeviceHints"]


def test_only_fields_of_install_config_are_known() -> None:
    fields = {name for name, _ in walk_fields(InstallConfig)}
    assert set(paths_of(KNOWN)) <= fields


def paths_of(shape: Mapping[str, Any], above: str = "") -> Iterator[str]:
    for key, below in shape.items():
        yield f"{above}{key}"
        yield from paths_of(below or {}, f"{above}{key}.")
