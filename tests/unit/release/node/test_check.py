# SPDX-License-Identifier: Apache-2.0
"""What cannot become a cluster is told before anything is made."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_network

import pytest

from muster.errors import UserError
from muster.model.host import Role
from muster.model.plan import PodNetwork
from muster.release.node.check import check_cluster
from muster.release.node.cluster import Cluster
from muster.release.node.payload import plan_cluster
from tests.clusters import (
    CLUSTERS,
    DUAL,
    PODS,
    RELEASE,
    SERVICES,
    SINGLE,
    THREE,
    authorities,
    cluster,
    member,
)
from tests.seeds import seeded


@pytest.mark.parametrize("name", CLUSTERS)
def test_what_holds(name: str) -> None:
    check_cluster(RELEASE, CLUSTERS[name])


def with_member(name: str, number: int, families: tuple[int, ...] = (4,)) -> Cluster:
    return replace(THREE, members=(*THREE.members, member(name, Role.WORKER, number, families)))


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (cluster({"worker-0": Role.WORKER}), "no control-plane host"),
        (cluster({"Node_1": Role.MASTER}), "'Node_1' cannot be the name of a node"),
        (cluster({"x" * 64: Role.MASTER}), "cannot be the name of a node"),
        (cluster({f"{'x' * 40}.{'y' * 40}": Role.MASTER}), "63 are allowed"),
        (with_member("master-0", 20), "two hosts are called master-0"),
        (with_member("worker-0", 11), "two hosts have the address 192.0.2.11"),
        (with_member("worker-0", 20, (6,)), "worker-0 has not one address of each family"),
        (replace(DUAL, members=THREE.members), "master-0 has not one address of each family"),
        (replace(DUAL, services=(SERVICES[6], SERVICES[4])), "not of the same families in the same order"),
        (replace(SINGLE, services=()), "needs one network of services"),
        (replace(SINGLE, services=(SERVICES[4], SERVICES[4])), "needs one network of services"),
        (replace(SINGLE, pods=(PODS[6],)), "not of the same families"),
        (replace(SINGLE, services=(ip_network("172.30.0.0/29"),)), "172.30.0.0/29 is too small"),
        (
            replace(THREE, pods=(PodNetwork(ip_network("10.1.0.0/24"), 25),)),
            "10.1.0.0/24 has parts of length 25 for 2 hosts, there are 3",
        ),
        (
            replace(SINGLE, pods=(PodNetwork(ip_network("10.1.0.0/24"), 20),)),
            "10.1.0.0/24 has parts of length 20 for 0 hosts",
        ),
    ],
)
def test_what_does_not(broken: Cluster, words: str) -> None:
    with pytest.raises(UserError, match="the cluster site cannot be made") as caught:
        plan_cluster(RELEASE, broken, authorities(), seeded("hosts"))
    assert words in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("id", ["kube", "coredns", "pause"])
def test_a_release_has_what_nodes_run(id: str) -> None:
    release = replace(RELEASE, images=tuple(image for image in RELEASE.images if image.id != id))
    with pytest.raises(UserError, match=f"the release has no image {id}"):
        check_cluster(release, SINGLE)
    with pytest.raises(UserError, match="does not say what its program kube is"):
        check_cluster(replace(RELEASE, components=()), SINGLE)


@pytest.mark.parametrize(
    ("add_ons", "words"),
    [
        (("storag",), "the release has no add-on storag"),
        (("backup",), "the add-on backup needs storage"),
        (("storage", "other"), "the add-ons other and storage exclude each other"),
    ],
)
def test_add_ons_fit_together(add_ons: tuple[str, ...], words: str) -> None:
    with pytest.raises(UserError, match=words):
        check_cluster(RELEASE, replace(SINGLE, add_ons=add_ons))
