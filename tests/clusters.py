# SPDX-License-Identifier: Apache-2.0
"""Clusters of a kubernetes release, whose keys are the same in every run."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address, ip_network

from muster.image.pki import build_pki, site_authorities
from muster.model.host import Role
from muster.model.plan import PodNetwork
from muster.model.registries import Mirror, RegistriesConf, Registry
from muster.model.values import IP, Network, Secret
from muster.release.model import (
    AddOn,
    Component,
    Condition,
    ConditionKind,
    Manifest,
    Needs,
    Release,
    ReleaseImage,
)
from muster.release.node.authorities import ClusterAuthorities, make_authorities
from muster.release.node.cluster import Cluster, Member
from muster.release.oci.digest import parse_digest
from muster.release.oci.manifest import OCI_MANIFEST, Descriptor
from tests.seeds import NOW, fixed_secrets, seeded

ID = "11111111-2222-4333-8444-555555555555"


def _image(id: str, digit: str) -> ReleaseImage:
    digest = parse_digest(f"sha256:{digit * 64}")
    return ReleaseImage(
        id, f"muster.local/kubernetes/{id}", "v1", Descriptor(OCI_MANIFEST, digest, 500), 1000, (id,)
    )


def _add_on(id: str, dependencies: tuple[str, ...] = (), conflicts: tuple[str, ...] = ()) -> AddOn:
    ready = (Condition(ConditionKind.DEPLOYMENT_AVAILABLE, id, "kube-system"),)
    manifest = Manifest("10-all.yaml", f"kind: ConfigMap\napiVersion: v1\nmetadata: {{name: {id}}}\n")
    return AddOn(id, id, "v1", "", "", (), (manifest,), Needs(), Needs(), dependencies, conflicts, ready)


RELEASE = Release(
    kind="kubernetes",
    version="v1.36.3",
    architecture="amd64",
    name="muster.local/kubernetes/release",
    created="2026-07-22T18:07:38Z",
    muster="1",
    go="go1.26",
    zstd="1.5.7",
    components=(
        Component(
            "kubernetes", "Kubernetes", "v1.36.3", "Apache-2.0", "kube", parse_digest(f"sha256:{'d' * 64}"), 9
        ),
    ),
    images=(_image("kube", "a"), _image("coredns", "b"), _image("pause", "c")),
    add_ons=(_add_on("storage"), _add_on("backup", ("storage",)), _add_on("other", (), ("storage",))),
)
MIRRORED = RegistriesConf(
    (
        Registry(
            location="muster.local",
            blocked=True,
            mirror_by_digest_only=True,
            mirrors=(Mirror("registry.example.com:5000"), Mirror("spare.example.com/copies")),
        ),
    )
)
PULL_SECRET = Secret('{"auths": {"registry.example.com:5000": {"auth": "dXNlcjpwYXNz"}}}')
PODS: dict[int, PodNetwork] = {
    4: PodNetwork(ip_network("10.128.0.0/14"), 23),
    6: PodNetwork(ip_network("fd01::/48"), 64),
}
MACHINES: dict[int, Network] = {4: ip_network("192.0.2.0/24"), 6: ip_network("2001:db8::/64")}
SERVICES: dict[int, Network] = {4: ip_network("172.30.0.0/16"), 6: ip_network("fd02::/112")}
_STARTS = {4: "192.0.2.", 6: "2001:db8::"}
_MASTERS = ("master-0", "master-1", "master-2")


def member(name: str, role: Role, number: int, families: tuple[int, ...]) -> Member:
    addresses: tuple[IP, ...] = tuple(ip_address(f"{_STARTS[family]}{number}") for family in families)
    return Member(name, addresses, role)


def cluster(roles: dict[str, Role], families: tuple[int, ...] = (4,), rendezvous: str = "") -> Cluster:
    """A cluster of these hosts, in networks of these families."""
    return Cluster(
        rendezvous=rendezvous or next(iter(roles)),
        name="site",
        base_domain="example.com",
        id=ID,
        members=tuple(
            member(name, role, number, families)
            for number, (name, role) in enumerate(roles.items(), start=10)
        ),
        pods=tuple(PODS[family] for family in families),
        services=tuple(SERVICES[family] for family in families),
        machines=tuple(MACHINES[family] for family in families),
    )


SINGLE = replace(cluster({"node1": Role.MASTER}), tuning="emulated")
THREE = replace(
    cluster(dict.fromkeys(_MASTERS, Role.MASTER)),
    api_vips=(ip_address("192.0.2.5"),),
    ingress_vips=(ip_address("192.0.2.6"),),
    holds_vips=True,
    registries=MIRRORED,
    trust_bundle="-----BEGIN CERTIFICATE-----\n(of the registry)\n-----END CERTIFICATE-----\n",
    pull_secret=PULL_SECRET,
    add_ons=("storage", "backup"),
)
WITH_WORKER = replace(
    cluster({**dict.fromkeys(_MASTERS, Role.MASTER), "worker-0": Role.WORKER, "worker-1": Role.WORKER}),
    api_vips=(ip_address("192.0.2.5"),),
    ingress_vips=(ip_address("192.0.2.6"),),
    holds_vips=True,
)
ARBITER = replace(
    cluster(
        {"master-0": Role.MASTER, "master-1": Role.MASTER, "arbiter-0": Role.ARBITER}, rendezvous="arbiter-0"
    ),
    tuning="emulated",
    api_vips=(ip_address("192.0.2.5"),),
    ingress_vips=(ip_address("192.0.2.6"),),
    holds_vips=True,
)
BALANCED = cluster({"master-0": Role.MASTER, "master-1": Role.MASTER, "arbiter-0": Role.ARBITER})
IPV6 = cluster({"node1": Role.MASTER, "worker-0": Role.WORKER}, (6,))
DUAL = replace(
    cluster(dict.fromkeys(_MASTERS, Role.MASTER), (4, 6)),
    api_vips=(ip_address("192.0.2.5"), ip_address("2001:db8::5")),
    ingress_vips=(ip_address("192.0.2.6"), ip_address("2001:db8::6")),
    holds_vips=True,
)
CLUSTERS = {
    "single-node": SINGLE,
    "three-control-planes": THREE,
    "with-worker": WITH_WORKER,
    "arbiter": ARBITER,
    "balanced": BALANCED,
    "ipv6": IPV6,
    "dual-stack": DUAL,
}


def authorities() -> ClusterAuthorities:
    """The same authorities every time."""
    return make_authorities(site_authorities(build_pki(fixed_secrets())), ID, seeded("cluster"), NOW)
