# SPDX-License-Identifier: Apache-2.0
"""What a cluster is made with when nobody said otherwise."""

from __future__ import annotations

import pytest

from muster.model.wire.cluster import ApiVip, IngressVip, MachineNetwork, Platform
from muster.service.derive.defaults import default_network_type, default_values
from muster.service.derive.versions import is_at_least
from muster.service.realm import Draft, Realm
from tests.unit.service.hosts import NOW, all_told, answer, make_cluster, settle


@pytest.mark.parametrize(
    ("version", "is_later"),
    [("4.13.40", False), ("4.14", True), ("4.14.0-rc.1", True), ("5.0", True), ("1.34.1", True), ("", True)],
)
def test_which_version_is_later(version: str, is_later: bool) -> None:
    assert is_at_least(version, 4, 14) is is_later


def test_networks_of_one_family() -> None:
    values = default_values(make_cluster(), has_network_type=False)
    assert [(each.cidr, each.host_prefix) for each in values["cluster_networks"]] == [("10.128.0.0/14", 23)]
    assert [each.cidr for each in values["service_networks"]] == ["172.30.0.0/16"]
    assert values["network_type"] == "OVNKubernetes"
    assert "platform" not in values


def test_networks_follow_the_families_that_were_given() -> None:
    given = (MachineNetwork(cidr="192.0.2.0/24"), MachineNetwork(cidr="2001:db8::/64"))
    values = default_values(make_cluster(machine_networks=given), has_network_type=True)
    assert [each.cidr for each in values["cluster_networks"]] == ["10.128.0.0/14", "fd01::/48"]
    assert [each.cidr for each in values["service_networks"]] == ["172.30.0.0/16", "fd02::/112"]
    assert "network_type" not in values


def test_a_single_node_looks_after_its_network_itself() -> None:
    values = default_values(make_cluster(control_plane_count=1), has_network_type=True)
    assert values["platform"] == Platform(type="none")
    assert values["user_managed_networking"] is True


def test_old_releases_have_an_old_network() -> None:
    assert default_network_type("4.11.3", 3) == "OpenShiftSDN"
    assert default_network_type("4.11.3", 1) == "OVNKubernetes"


def verified(realm: Realm) -> list[str | None]:
    assert realm.cluster is not None
    api = [each.verification for each in realm.cluster.api_vips]
    return [*api, *(each.verification for each in realm.cluster.ingress_vips)]


def look(realm: Realm, number: int, api: str, ingress: str) -> None:
    found = [
        {"vip": "192.0.2.5", "vip_type": "api", "verification": api},
        {"vip": "192.0.2.6", "vip_type": "ingress", "verification": ingress},
    ]
    answer(realm, number, "verify-vips", found)


def test_one_host_that_hears_an_answer_is_enough() -> None:
    realm = all_told(3)
    draft = Draft(realm, NOW)
    vips = {"api_vips": (ApiVip(ip="192.0.2.5"),), "ingress_vips": (IngressVip(ip="192.0.2.6"),)}
    draft.change(draft.cluster, **vips)
    settle(draft)
    assert verified(realm) == ["unverified", "unverified"]
    look(realm, 1, "failed", "succeeded")
    look(realm, 2, "succeeded", "succeeded")
    look(realm, 3, "succeeded", "unverified")
    assert verified(realm) == ["failed", "succeeded"]
    look(realm, 1, "succeeded", "succeeded")
    assert verified(realm) == ["succeeded", "succeeded"]
