# SPDX-License-Identifier: Apache-2.0
"""What a host gets is whole: whatever a file or unit names is there."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from ipaddress import ip_network

import msgspec
import pytest
import yaml

from muster.model.host import Role
from muster.model.ignition import Config, File
from muster.model.setting_up import PLAN_FILE, Ready, SetupPlan
from muster.release.node.cluster import Cluster
from muster.release.node.payload import plan_cluster
from muster.release.node.programs import KUBE_NAMES
from tests.clusters import (
    ARBITER,
    BALANCED,
    CLUSTERS,
    DUAL,
    IPV6,
    RELEASE,
    SINGLE,
    THREE,
    WITH_WORKER,
    authorities,
)
from tests.seeds import seeded

OF_THE_SYSTEM = {
    "containerd.service",
    "NetworkManager.service",
    "systemd-sysctl.service",
    "systemd-modules-load.service",
}
"""Units of the machine OS."""
OF_THE_GUEST = {
    "/etc/containerd/certs.d",
    "/etc/resolv.conf",
    "/etc/cni/net.d",
    "/etc/coredns",
    "/etc/coredns/Corefile",
    "/etc/muster/firewall.d",
}
"""Folders, and files of containers."""
NOT_YET = {"/usr/local/bin/kube", *(f"/usr/local/bin/{name}" for name in KUBE_NAMES)}
"""What comes out of the release."""


@cache
def plan(name: str) -> dict[str, Config]:
    return plan_cluster(RELEASE, CLUSTERS[name], authorities(), seeded("hosts"))


def text_of(config: Config, path: str) -> str:
    return next(file.data.decode() for file in config.files if file.path == path)


@pytest.mark.parametrize("name", CLUSTERS)
def test_what_is_named_is_there(name: str) -> None:
    for config in plan(name).values():
        paths = {file.path for file in config.files}
        folders = {path.rpartition("/")[0] for path in paths}
        texts = {unit.name: unit.contents for unit in config.units}
        texts |= {file.path: file.data.decode() for file in config.files}
        for title, text in texts.items():
            named = re.findall(r"(?<![\w.}])/(?:etc|usr/local/bin)/[\w./-]*\w", text)
            for path in named:
                assert path in paths | folders | OF_THE_GUEST | NOT_YET, f"{title} names {path}"
            assert not re.search(r"@[a-z_]+@", text), f"{title} has a place that nobody filled"


@pytest.mark.parametrize("name", CLUSTERS)
def test_units_know_each_other(name: str) -> None:
    for config in plan(name).values():
        names = {unit.name for unit in config.units}
        for unit in config.units:
            wanted = re.findall(r"^(?:Wants|Requires)=(.*)$", unit.contents, re.MULTILINE)
            for each in " ".join(wanted).split():
                assert each in names | OF_THE_SYSTEM, f"{unit.name} wants {each}"
            assert unit.enabled
            assert "WantedBy=multi-user.target" in unit.contents


@pytest.mark.parametrize("name", CLUSTERS)
def test_every_file_of_a_key_is_used(name: str) -> None:
    for host, config in plan(name).items():
        text = "".join(unit.contents for unit in config.units) + "".join(
            file.data.decode() for file in config.files
        )
        for file in config.files:
            if file.path.startswith("/etc/kubernetes/") and "/setup/" not in file.path:
                inside = file.path.replace("/etc/kubernetes/network/", "$home/")
                assert text.count(inside), f"{host}: nobody uses {file.path}"


@pytest.mark.parametrize("name", CLUSTERS)
def test_flags_are_given_once(name: str) -> None:
    for config in plan(name).values():
        for unit in config.units:
            flags = re.findall(r"^ +--([\w-]+)=", unit.contents, re.MULTILINE)
            assert len({*flags}) == len(flags), unit.name


def test_roles() -> None:
    programs = {
        host: {unit.name.removesuffix(".service") for unit in config.units} & {*KUBE_NAMES}
        for name in ("arbiter", "with-worker")
        for host, config in plan(name).items()
    }
    everything = {*KUBE_NAMES} - {"etcdctl", "etcdutl", "kubeadm", "kubectl"}
    assert programs["master-0"] == everything
    assert programs["arbiter-0"] == {"etcd", "kubelet", "kube-proxy"}
    assert programs["worker-0"] == {"kubelet", "kube-proxy"}


@pytest.mark.parametrize(
    ("name", "host", "taints"),
    [
        ("single-node", "node1", []),
        ("three-control-planes", "master-0", []),
        ("with-worker", "master-0", ["node-role.kubernetes.io/control-plane"]),
        ("with-worker", "worker-0", []),
        ("arbiter", "master-0", []),
        ("arbiter", "arbiter-0", ["node-role.kubernetes.io/arbiter"]),
    ],
)
def test_taints(name: str, host: str, taints: list[str]) -> None:
    body = yaml.safe_load(text_of(plan(name)[host], "/etc/kubernetes/kubelet.yaml"))
    assert [taint["key"] for taint in body["registerWithTaints"]] == taints


def test_all_members_of_etcd_are_named_everywhere() -> None:
    for host, config in plan("arbiter").items():
        etcd = next(unit.contents for unit in config.units if unit.name == "etcd.service")
        assert "master-0=https://192.0.2.10:2380,master-1=https://192.0.2.11:2380" in etcd
        assert "arbiter-0=https://192.0.2.12:2380" in etcd
        assert f"--initial-cluster-token={ARBITER.id}" in etcd
        assert f"--name={host}" in etcd


@pytest.mark.parametrize(
    ("whole", "role", "server"),
    [
        (SINGLE, Role.MASTER, "https://127.0.0.1:6443"),
        (WITH_WORKER, Role.WORKER, "https://192.0.2.5:6443"),
        (IPV6, Role.WORKER, "https://[2001:db8::10]:6443"),
        (ARBITER, Role.ARBITER, "https://192.0.2.5:6443"),
        (BALANCED, Role.ARBITER, "https://api-int.site.example.com:6443"),
    ],
)
def test_where_the_api_is(whole: object, role: Role, server: str) -> None:
    name = next(name for name, each in CLUSTERS.items() if each == whole)
    host = next(member for member in CLUSTERS[name].members if member.role is role)
    assert server in text_of(plan(name)[host.name], "/etc/kubernetes/kubelet.conf")
    waiting = next(unit for unit in plan(name)[host.name].units if unit.name == "muster-api.service")
    assert f"muster-wait-for-api {server}\n" in waiting.contents


def test_only_the_first_host_sets_up_the_cluster() -> None:
    setting_up = [
        host
        for host, config in plan("with-worker").items()
        if any(unit.name == "muster-cluster-setup.service" for unit in config.units)
    ]
    assert setting_up == ["master-0"]
    found = json.loads(text_of(plan("with-worker")["master-0"], PLAN_FILE))
    assert [*found["nodes"]] == [member.name for member in WITH_WORKER.members]


@pytest.mark.parametrize("name", CLUSTERS)
def test_nobody_approves_or_signs_what_the_api_is_asked_for(name: str) -> None:
    for config in plan(name).values():
        for unit in config.units:
            if unit.name == "kube-controller-manager.service":
                assert "-certificatesigningrequest-approving-controller" in unit.contents
            assert "--cluster-signing" not in unit.contents
        assert not [file.path for file in config.files if re.search(r"ca\.key$|signer", file.path)]


def test_pods_of_hosts_do_not_overlap() -> None:
    parts = [ip_network(str(each)) for host in DUAL.members for each in DUAL.pod_subnets(host)]
    assert len({*parts}) == 2 * len(DUAL.members)
    for part in parts:
        assert [each for each in parts if each.version == part.version and part.overlaps(each)] == [part]
    for host in DUAL.members:
        conflist = json.loads(text_of(plan("dual-stack")[host.name], "/etc/cni/net.d/10-pods.conflist"))
        ranges = conflist["plugins"][0]["ipam"]["ranges"]
        assert [ip_network(each[0]["subnet"]) for each in ranges] == list(DUAL.pod_subnets(host))


def test_every_host_knows_the_way_to_every_other() -> None:
    routes = text_of(plan("dual-stack")["master-1"], "/etc/kubernetes/network/routes").splitlines()
    assert routes == [
        "route replace 10.128.0.0/23 via 192.0.2.10",
        "route replace fd01::/64 via 2001:db8::10",
        "route replace 10.128.4.0/23 via 192.0.2.12",
        "route replace fd01:0:0:2::/64 via 2001:db8::12",
    ]


def test_manifests_name_images_by_digest() -> None:
    config = plan("three-control-planes")["master-0"]
    documents = [
        body
        for file in config.files
        if "/setup/manifests/" in file.path
        for body in yaml.safe_load_all(file.data)
    ]
    assert all(body["kind"] and body["metadata"]["name"] for body in documents)
    deployment = next(body for body in documents if body["kind"] == "Deployment")
    assert (
        deployment["spec"]["template"]["spec"]["containers"][0]["image"] == RELEASE.image("coredns").pullspec
    )
    assert deployment["spec"]["replicas"] == 2
    service = next(body for body in documents if body["kind"] == "Service")
    assert service["spec"]["clusterIP"] == str(THREE.dns_addresses[0]) == "172.30.0.10"


def setup_of(cluster: Cluster) -> tuple[SetupPlan, dict[str, File]]:
    config = plan_cluster(RELEASE, cluster, authorities(), seeded("hosts"))[cluster.first.name]
    folder = "/etc/kubernetes/setup/manifests/"
    there = {file.path.removeprefix(folder): file for file in config.files if file.path.startswith(folder)}
    return msgspec.json.decode(text_of(config, PLAN_FILE), type=SetupPlan), there


@pytest.mark.parametrize("chosen", [("storage", "backup"), ("backup", "storage")])
def test_add_ons_come_after_those_that_they_need(chosen: tuple[str, ...]) -> None:
    found, there = setup_of(replace(THREE, add_ons=chosen))
    assert [each.id for each in found.add_ons] == ["storage", "backup"]
    assert [each.files for each in found.add_ons] == [
        ("60-storage-10-all.yaml",),
        ("61-backup-10-all.yaml",),
    ]
    assert {*found.own.files, *(name for each in found.add_ons for name in each.files)} == there.keys()
    ready = found.add_ons[0].ready
    assert ready == (Ready("deployment-available", "storage", "kube-system"),)


def test_kubelets_can_be_verified_by_everybody() -> None:
    config = plan("single-node")["node1"]
    body = yaml.safe_load(text_of(config, "/etc/kubernetes/setup/manifests/00-1-kubelet-authority.yaml"))
    assert body["data"]["ca-bundle.crt"] == text_of(config, "/etc/kubernetes/pki/kubelet-ca.crt")


def test_the_program_comes_from_the_registries_of_the_site() -> None:
    taken = {
        name: next(unit.contents for unit in plan(name)[host].units if unit.name == "muster-kube.service")
        for name, host in (("single-node", "node1"), ("three-control-planes", "master-0"))
    }
    for text in taken.values():
        assert f"release extract {RELEASE.image('kube').pullspec}" in text
        assert f"--sha256 {'d' * 64}" in text
    assert "--ca-bundle" not in taken["single-node"]
    assert "--registries-conf /etc/containers/registries.conf" in taken["three-control-planes"]
    assert "--ca-bundle /etc/kubernetes/pki/registries.crt" in taken["three-control-planes"]


def test_the_same_randomness_gives_the_same_configs() -> None:
    again = plan_cluster(RELEASE, SINGLE, authorities(), seeded("hosts"))
    assert again == plan("single-node")


def test_what_a_user_adds_is_kept_in_its_order_and_for_root_alone() -> None:
    found, there = setup_of(replace(SINGLE, manifests=(("openshift/b.yaml", "b"), ("a.yaml", "a"))))
    assert found.manifests == ("50-000-openshift-b.yaml", "50-001-a.yaml")
    assert {there[name].mode for name in found.manifests} == {0o600}
    assert there[found.manifests[0]].data == b"b"
