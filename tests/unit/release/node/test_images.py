# SPDX-License-Identifier: Apache-2.0
"""Which images a host starts from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from muster.errors import ExternalError
from muster.release.model import ReleaseImage
from muster.release.node.cluster import Cluster
from muster.release.node.images import FILE, PROGRAMS, NodeImage, parse_images, plan_images
from muster.release.node.payload import plan_cluster
from muster.release.oci.digest import parse_digest
from muster.release.oci.manifest import OCI_MANIFEST, Descriptor
from tests.clusters import ARBITER, RELEASE, SINGLE, THREE, WITH_WORKER, authorities
from tests.seeds import seeded


def image(id: str, digit: str, size_bytes: int) -> ReleaseImage:
    descriptor = Descriptor(OCI_MANIFEST, parse_digest(f"sha256:{digit * 64}"), 500)
    return ReleaseImage(id, f"muster.local/kubernetes/{id}", "v1", descriptor, size_bytes, (id,))


WITH_IMAGES = replace(
    RELEASE,
    images=(*RELEASE.images, image("local-path", "e", 70), image("traefik", "f", 80)),
    add_ons=tuple(
        replace(add_on, images={"storage": ("local-path",), "other": ("traefik",)}.get(add_on.id, ()))
        for add_on in RELEASE.add_ons
    ),
)


def names(cluster: Cluster, number: int = 0) -> list[str]:
    planned = plan_images(WITH_IMAGES, cluster, cluster.members[number])
    return [each.name.removeprefix("muster.local/kubernetes/").partition("@")[0] for each in planned.images]


def test_images_and_programs_are_known_by_digest() -> None:
    planned = plan_images(RELEASE, SINGLE, SINGLE.first)
    assert planned.images == (
        NodeImage(f"muster.local/kubernetes/pause@sha256:{'c' * 64}", 1000),
        NodeImage(f"muster.local/kubernetes/coredns@sha256:{'b' * 64}", 1000),
    )
    assert planned.size_bytes == 2000
    (kube,) = planned.programs
    assert kube.image == NodeImage(f"muster.local/kubernetes/kube@sha256:{'a' * 64}", 1000)
    assert (kube.path, kube.sha256, kube.architecture) == ("/usr/bin/kube", "d" * 64, "amd64")


def test_every_name_of_the_program_leads_to_where_the_installer_puts_it() -> None:
    (config,) = plan_cluster(RELEASE, SINGLE, authorities(), seeded("hosts")).values()
    assert {link.target for link in config.links} == {f"{PROGRAMS}/{'d' * 64}"}
    assert {"etcd", "kube-apiserver", "kubectl", "kubelet"} <= {Path(link.path).name for link in config.links}
    (unit,) = (each.contents for each in config.units if each.name == "muster-kube.service")
    assert f"ConditionPathExists=!{PROGRAMS}/{'d' * 64}\n" in unit


def test_add_ons_that_the_site_chose_bring_theirs() -> None:
    assert names(THREE) == ["pause", "coredns", "local-path"]
    assert names(SINGLE) == ["pause", "coredns"]


def test_each_role() -> None:
    worker = replace(WITH_WORKER, add_ons=("storage",))
    assert names(worker, 0) == names(worker, 3) == ["pause", "coredns", "local-path"]
    assert names(replace(ARBITER, add_ons=("storage",)), 2) == ["pause"]


def test_every_host_has_its_list() -> None:
    for host, config in plan_cluster(RELEASE, ARBITER, authorities(), seeded("hosts")).items():
        (file,) = (each for each in config.files if each.path == FILE)
        member = next(each for each in ARBITER.members if each.name == host)
        assert parse_images(file.data) == plan_images(RELEASE, ARBITER, member)


def test_what_containers_run_from_is_in_the_list() -> None:
    """What the kubelet will ask for is what the installer copies: the same names, to the letter."""
    for host, config in plan_cluster(RELEASE, SINGLE, authorities(), seeded("hosts")).items():
        (listed,) = (parse_images(each.data) for each in config.files if each.path == FILE)
        text = "".join(each.data.decode() for each in config.files if each.path != FILE)
        text += "".join(unit.contents for unit in config.units)
        assert all(each.name in text for each in listed.images), host


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b'{"images": [{"name": 7}]}', b'{"images": [{"name": "a.example/b:1", "size_bytes": 1}]}'],
)
def test_a_list_that_is_none(data: bytes) -> None:
    with pytest.raises(ExternalError, match="cannot be read"):
        parse_images(data)
