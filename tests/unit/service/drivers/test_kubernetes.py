# SPDX-License-Identifier: Apache-2.0
"""What a Kubernetes release makes of a cluster and its hosts."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from muster.errors import UserError
from muster.image.pki import build_pki, site_authorities
from muster.model.ignition import find_file
from muster.model.meeting import Meeting
from muster.model.wire.cluster import (
    ApiVip,
    ClusterNetwork,
    DiskEncryption,
    IngressVip,
    LoadBalancer,
    MachineNetwork,
    Platform,
    ServiceNetwork,
)
from muster.service.drivers.install_config import render_install_config
from muster.service.drivers.kubernetes import KubernetesDriver, SiteTerms
from muster.service.house import House
from muster.service.release_driver import ClusterOrder
from muster.service.state import Cluster
from tests.clusters import RELEASE
from tests.seeds import fixed_secrets, seeded
from tests.unit.service.hosts import NOW, address, host_id, make_cluster, make_host, make_inventory

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0 me@example.com"


def cluster(**more: Any) -> Cluster:
    values: dict[str, Any] = {
        "openshift_version": RELEASE.version,
        "ssh_public_key": KEY,
        "cluster_networks": (ClusterNetwork(cidr="10.128.0.0/14", host_prefix=23),),
        "service_networks": (ServiceNetwork(cidr="172.30.0.0/16"),),
        "machine_networks": (MachineNetwork(cidr="198.18.0.0/16"),),
        "api_vips": (ApiVip(ip="198.18.9.1"),),
        "ingress_vips": (IngressVip(ip="198.18.9.2"),),
    }
    return make_cluster(**(values | more))


def order(hosts: int = 3, *, overrides: str = "", **more: Any) -> ClusterOrder:
    made = tuple(
        make_host(
            number,
            role="master",
            bootstrap=number == 2,
            inventory=make_inventory(number),
            ignition_config_overrides=overrides if number == 1 else "",
        )
        for number in range(1, hosts + 1)
    )
    return ClusterOrder(cluster(**more), made, '{"auths": {}}', {})


def driver() -> KubernetesDriver:
    return KubernetesDriver(lambda version, architecture: RELEASE, seeded("driver"), lambda: NOW)


def test_every_host_gets_a_config_of_its_own() -> None:
    files = driver().prepare(order())
    assert {f"host/{host_id(number)}.ign" for number in (1, 2, 3)} < files.keys()
    tree = json.loads(files[f"host/{host_id(2)}.ign"])
    paths = {file["path"] for file in tree["storage"]["files"]}
    assert "/etc/hostname" in paths
    assert any("kubelet" in path for path in paths)
    assert tree["passwd"]["users"][0]["sshAuthorizedKeys"] == [KEY]


def test_refuses_a_cluster_whose_disks_are_to_be_encrypted() -> None:
    with pytest.raises(UserError, match="disk_encryption is requested for masters hosts"):
        driver().prepare(order(disk_encryption=DiskEncryption(enable_on="masters", mode="tpmv2")))
    assert driver().prepare(order(disk_encryption=DiskEncryption(enable_on="none", mode="tpmv2")))


def units_of(files: Mapping[str, bytes], number: int) -> set[str]:
    tree = json.loads(files[f"host/{host_id(number)}.ign"])
    return {each["name"] for each in tree["systemd"]["units"]}


@pytest.mark.parametrize(
    ("more", "holds"),
    [
        ({}, True),
        ({"user_managed_networking": True}, False),
        ({"load_balancer": LoadBalancer(type="user-managed")}, False),
        ({"load_balancer": LoadBalancer(type="cluster-managed")}, True),
    ],
)
def test_hosts_hold_virtual_addresses_unless_users_do(more: dict[str, Any], holds: bool) -> None:
    files = driver().prepare(order(**more))
    assert ("muster-vips.service" in units_of(files, 1)) is holds


def test_an_arbiter_has_a_vote_and_no_address() -> None:
    asked = order()
    third = replace(asked.hosts[2], role="auto-assign", suggested_role="arbiter")
    files = driver().prepare(
        ClusterOrder(
            **{**vars(asked), "hosts": (*asked.hosts[:2], third), "cluster": cluster(control_plane_count=2)}
        )
    )
    assert {"etcd.service", "kubelet.service"} < units_of(files, 3)
    assert not {"kube-apiserver.service", "muster-vips.service"} & units_of(files, 3)
    assert "muster-vips.service" in units_of(files, 1)
    tree = json.loads(files[f"host/{host_id(1)}.ign"])
    etcd = next(each["contents"] for each in tree["systemd"]["units"] if each["name"] == "etcd.service")
    assert f"host-3=https://{address(3)}:2380" in etcd
    body = yaml.safe_load(files["install-config.yaml"])
    assert (body["arbiter"]["replicas"], body["controlPlane"]["replicas"]) == (1, 2)


@pytest.mark.parametrize("number", [1, 2, 3, None])
def test_the_rendezvous_host_keeps_the_port_of_the_service_open(number: int | None) -> None:
    """Whatever its role is: the service is handed over to the host that it runs on."""
    asked = order()
    meeting = Meeting(ip_address(address(number)), "c", "i") if number else None
    hosts = (*asked.hosts[:2], replace(asked.hosts[2], role="auto-assign", suggested_role="arbiter"))
    more = {"cluster": cluster(control_plane_count=2), "hosts": hosts}
    rendezvous = House("site", meeting).find_rendezvous(hosts)
    files = driver().prepare(ClusterOrder(**{**vars(asked), **more, "rendezvous": rendezvous}))
    trees = {each: json.loads(files[f"host/{host_id(each)}.ign"]) for each in (1, 2, 3)}
    rules = {each: find_file(tree, "/etc/muster/firewall.nft") or b"" for each, tree in trees.items()}
    assert [each for each, text in rules.items() if b"tcp dport 8090 accept" in text] == [number] * bool(
        number
    )


def test_control_plane_hosts_keep_each_others_configurations() -> None:
    files = driver().prepare(order(overrides='{"ignition": {"version": "3.2.0"}, "passwd": {"users": []}}'))
    trees = {number: json.loads(files[f"host/{host_id(number)}.ign"]) for number in (1, 2, 3)}
    for number, tree in trees.items():
        kept = {each["path"]: each for each in tree["storage"]["files"] if "/kept/" in each["path"]}
        assert len(kept) == 2
        for path, file in kept.items():
            assert file["mode"] == 0o600
            assert file["contents"]["compression"] == "gzip"
            packed = base64.b64decode(file["contents"]["source"].partition(",")[2])
            found = json.loads(gzip.decompress(packed))
            name = path.rpartition("/")[2].removesuffix(".ign")
            (owner,) = [other for other in trees if other != number and named(trees[other]) == name]
            whole = trees[owner]
            own = [each for each in whole["storage"]["files"] if "/kept/" not in each["path"]]
            assert found == {**whole, "storage": {**whole["storage"], "files": own}}


def named(tree: dict[str, Any]) -> str:
    file = next(each for each in tree["storage"]["files"] if each["path"] == "/etc/hostname")
    return base64.b64decode(file["contents"]["source"].partition(",")[2]).decode().strip()


def test_the_kubeconfig_is_that_of_the_cluster_and_stays_the_same() -> None:
    files = driver().prepare(order())
    config = yaml.safe_load(files["kubeconfig-noingress"])
    assert config["clusters"][0]["cluster"]["server"] == "https://api.muster.example.com:6443"
    again = ClusterOrder(**{**vars(order()), "secrets": files["secrets.json"].decode()})
    later = driver().prepare(again)
    assert later["kubeconfig-noingress"] == files["kubeconfig-noingress"]
    assert later["kubeadmin-password"] == files["kubeadmin-password"]


def test_what_a_user_adds_is_merged() -> None:
    unit = {
        "ignition": {"version": "3.2.0"},
        "systemd": {"units": [{"name": "own.service", "enabled": True}]},
    }
    files = driver().prepare(order(overrides=json.dumps(unit)))
    units = json.loads(files[f"host/{host_id(1)}.ign"])["systemd"]["units"]
    assert "own.service" in {each["name"] for each in units}
    others = json.loads(files[f"host/{host_id(3)}.ign"])["systemd"]["units"]
    assert "own.service" not in {each["name"] for each in others}


def test_a_host_outside_of_the_machine_network_is_named() -> None:
    wrong = order(machine_networks=(MachineNetwork(cidr="203.0.113.0/24"),))
    with pytest.raises(UserError, match=r"host host-2 has no address in 203\.0\.113\.0/24"):
        driver().prepare(wrong)


def test_the_images_are_those_of_the_release() -> None:
    assert driver().images(order()) == tuple(image.pullspec for image in RELEASE.images)


def test_the_install_config_is_shown_without_secrets() -> None:
    body = yaml.safe_load(render_install_config(order()))
    assert body["metadata"]["name"] == "muster"
    assert body["networking"]["machineNetwork"] == [{"cidr": "198.18.0.0/16"}]
    assert body["platform"]["baremetal"]["apiVIPs"] == ["198.18.9.1"]
    assert body["controlPlane"]["replicas"] == 3
    assert "auths" not in body["pullSecret"]
    assert address(1) not in json.dumps(body)


def test_overrides_are_merged_into_the_install_config() -> None:
    text = '{"fips": true, "networking": {"networkType": "Calico"}}'
    body = yaml.safe_load(render_install_config(order(install_config_overrides=text)))
    assert body["fips"] is True
    assert body["networking"]["networkType"] == "Calico"
    assert body["networking"]["serviceNetwork"] == ["172.30.0.0/16"]


def test_an_override_that_asks_for_nothing_hides_nothing() -> None:
    text = '{"sshKey": "", "baseDomain": null, "networking": {"serviceNetwork": [], "machineNetwork": []}}'
    plain = render_install_config(order())
    assert render_install_config(order(install_config_overrides=text)) == plain


def test_refuses_luks_in_the_ignition_config_of_a_host() -> None:
    """The interface refuses it, but an older version of the service may have stored it."""
    luks = {"ignition": {"version": "3.2.0"}, "storage": {"luks": [{"name": "data", "device": "/dev/sdb"}]}}
    with pytest.raises(UserError, match=r"the override of host host-1 asks for storage\.luks"):
        driver().prepare(order(overrides=json.dumps(luks)))


def test_other_platforms_have_no_vips() -> None:
    body = yaml.safe_load(render_install_config(order(platform=Platform(type="none"))))
    assert body["platform"] == {"none": {}}


def site_driver() -> KubernetesDriver:
    pki = build_pki(fixed_secrets())
    terms = SiteTerms(
        authorities=site_authorities(pki), manifests=(("openshift/own.yaml", "kind: Own"),), tuning="emulated"
    )
    return KubernetesDriver(lambda version, architecture: RELEASE, seeded("driver"), lambda: NOW, terms)


def test_a_site_brings_its_own_authorities_and_keeps_its_credentials() -> None:
    asked = order()
    files = site_driver().prepare(
        ClusterOrder(**{**vars(asked), "manifests": {"manifests/more.yaml": b"kind: More"}})
    )
    assert not {"secrets.json", "kubeadmin-password", "kubeconfig-noingress"} & files.keys()
    tree = json.loads(files[f"host/{host_id(2)}.ign"])
    by_path = {file["path"]: file["contents"]["source"] for file in tree["storage"]["files"]}
    manifests = [path.rpartition("/")[2] for path in by_path if "/setup/manifests/50-" in path]
    assert manifests == ["50-000-openshift-own.yaml", "50-001-manifests-more.yaml"]
    assert json.loads(files["metadata.json"])["clusterID"] == asked.cluster.id


@pytest.mark.parametrize("hosts", [1, 3])
def test_a_replaced_host_decrypts_what_the_others_encrypted(hosts: int) -> None:
    path = "/etc/kubernetes/api/encryption.yaml"
    files = driver().prepare(order(hosts))
    trees = [json.loads(files[f"host/{host_id(number)}.ign"]) for number in range(1, hosts + 1)]
    kept = [
        json.loads(text)
        for tree in trees
        for other in range(1, hosts + 1)
        if (text := find_file(tree, f"/etc/muster/kept/host-{other}.ign"))
    ]
    assert len(kept) == hosts * (hosts - 1)
    keys = {find_file(tree, path) for tree in (*trees, *kept)}
    assert len(keys) == 1
    assert None not in keys
