# SPDX-License-Identifier: Apache-2.0
"""Who holds the virtual addresses of a cluster, and what each holder knows of the others."""

from __future__ import annotations

import re
from dataclasses import replace
from ipaddress import ip_address

import pytest

from muster.errors import UserError
from muster.model.ignition import Config
from muster.release.node.check import check_cluster
from muster.release.node.cluster import Cluster
from muster.release.node.tuning import load_tuning
from muster.release.node.vips import router_ids, vips
from tests.clusters import ARBITER, BALANCED, DUAL, RELEASE, SINGLE, THREE, WITH_WORKER


def configs(cluster: Cluster) -> dict[str, Config]:
    tuning = load_tuning(cluster.tuning).vips
    return {member.name: vips(cluster, member, tuning) for member in cluster.members}


def conf_of(config: Config) -> str:
    return next((file.data.decode() for file in config.files if file.path.endswith("/keepalived.conf")), "")


def blocks(config: Config, keyword: str) -> dict[str, str]:
    """The blocks of a kind in a host's configuration, by name."""
    found = re.findall(rf"^{keyword} (\S+) {{\n(.*?)^}}", conf_of(config), re.MULTILINE | re.DOTALL)
    return {name: re.sub(r"\s+", " ", body) for name, body in found}


def held(cluster: Cluster) -> dict[str, list[str]]:
    return {name: [*blocks(config, "vrrp_instance")] for name, config in configs(cluster).items()}


def test_the_control_plane_holds_the_api_and_what_runs_pods_holds_ingress() -> None:
    both = ["api_4", "ingress_4"]
    masters = ("master-0", "master-1", "master-2")
    assert held(THREE) == dict.fromkeys(masters, both)
    beside = held(WITH_WORKER)
    assert [beside[name] for name in masters] == [["api_4"]] * 3
    assert [beside[name] for name in ("worker-0", "worker-1")] == [["ingress_4"]] * 2
    assert held(ARBITER) == {"master-0": both, "master-1": both, "arbiter-0": []}
    assert held(DUAL)["master-0"] == ["api_4", "api_6", "ingress_4", "ingress_6"]


@pytest.mark.parametrize(
    "cluster", [SINGLE, BALANCED, replace(THREE, holds_vips=False)], ids=["single", "none", "own balancer"]
)
def test_where_nobody_holds_addresses_nothing_runs(cluster: Cluster) -> None:
    assert {*configs(cluster).values()} == {Config()}


def test_a_host_knows_the_others_of_each_family() -> None:
    found = blocks(configs(DUAL)["master-1"], "vrrp_instance")
    for name, start in (("api_4", "192.0.2."), ("api_6", "2001:db8::")):
        peers = f"{start}10 min_ttl 255 {start}12 min_ttl 255"
        assert f"unicast_src_ip {start}11 unicast_ttl 255 unicast_peer {{ {peers} }}" in found[name]
    assert "interface of-2001:db8::11 " in found["ingress_6"]
    assert "virtual_ipaddress { 192.0.2.6/32 }" in found["ingress_4"]
    assert "virtual_ipaddress { 2001:db8::6/128 }" in found["ingress_6"]


def test_a_holder_without_others_has_no_peers() -> None:
    text = conf_of(configs(replace(THREE, members=THREE.members[:1]))["master-0"])
    assert "192.0.2.5/32" in text
    assert "unicast_src_ip" not in text
    assert "unicast_peer" not in text


def test_only_the_api_s_address_stays_with_an_order_of_hosts() -> None:
    found = [blocks(config, "vrrp_instance") for config in configs(THREE).values()]
    priorities = [
        {name: int(re.findall(r" priority (\d+)", body)[0]) for name, body in each.items()} for each in found
    ]
    assert [each["api_4"] for each in priorities] == [200, 199, 198]
    assert [each["ingress_4"] for each in priorities] == [100, 100, 100]
    for each in found:
        assert " nopreempt " in each["api_4"]
        # A host that takes requests has to get it from one that does not any more.
        assert " nopreempt " not in each["ingress_4"]


def test_only_a_ready_api_holds_its_address_and_ingress_is_always_held() -> None:
    checks = blocks(configs(DUAL)["master-2"], "vrrp_script")
    assert [*checks] == ["api", "ingress"]
    assert "/usr/local/bin/muster-api-ready https://127.0.0.1:6443 " in checks["api"]
    assert " weight " not in checks["api"]
    assert "/usr/local/bin/muster-ingress-listens 192.0.2.12 " in checks["ingress"]
    assert " weight 50 " in checks["ingress"]
    assert all(body.endswith(" init_fail ") for body in checks.values())


@pytest.mark.parametrize(
    ("cluster", "check", "advert"),
    [
        (THREE, "interval 3 timeout 3 fall 2", "advert_int 1"),
        (ARBITER, "interval 20 timeout 20", "advert_int 3"),
    ],
)
def test_times_are_those_of_the_profile(cluster: Cluster, check: str, advert: str) -> None:
    config = configs(cluster)["master-0"]
    assert all(check in body for body in blocks(config, "vrrp_script").values())
    assert all(advert in body for body in blocks(config, "vrrp_instance").values())


def test_a_check_ends_before_it_is_ended() -> None:
    for profile in ("default", "emulated"):
        tuning = load_tuning(profile).vips
        text = conf_of(vips(THREE, THREE.first, tuning))
        assert int(re.findall(r"muster-api-ready \S+ (\d+)", text)[0]) < tuning.check_s
        # It looks at two ports, one after the other.
        assert 2 * int(re.findall(r"muster-ingress-listens \S+ (\d+)", text)[0]) < tuning.check_s


def test_numbers_follow_from_the_cluster_and_differ() -> None:
    pairs = [router_ids(f"cluster-{number}") for number in range(500)]
    assert pairs == [router_ids(f"cluster-{number}") for number in range(500)]
    assert {api % 2 for api, _ in pairs} == {1}
    assert all(1 <= api < ingress == api + 1 <= 254 for api, ingress in pairs)
    assert len({*pairs}) > 100
    found = blocks(configs(DUAL)["master-0"], "vrrp_instance")
    api, ingress = router_ids(DUAL.id)
    assert f" virtual_router_id {api} " in found["api_6"]
    assert f" virtual_router_id {ingress} " in found["ingress_4"]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"api_vips": ("192.0.2.5", "192.0.2.7")}, "apiVIPs are 192.0.2.5, 192.0.2.7, which is not one of"),
        ({"ingress_vips": ("2001:db8::6",)}, "ingressVIPs are 2001:db8::6, which is not one of"),
        ({"ingress_vips": ("192.0.2.5",)}, "the virtual address 192.0.2.5 is used twice"),
        ({"api_vips": ("192.0.2.11",)}, "the virtual address 192.0.2.11 is used twice"),
    ],
)
def test_addresses_that_nobody_could_hold_are_told(change: dict[str, tuple[str, ...]], what: str) -> None:
    given = {name: tuple(map(ip_address, texts)) for name, texts in change.items()}
    broken = replace(THREE, **given)  # type: ignore[arg-type]  # they are addresses
    with pytest.raises(UserError, match=re.escape(what)):
        check_cluster(RELEASE, broken)
    # A load balancer may have one address for everything, and hosts are not asked.
    check_cluster(RELEASE, replace(broken, holds_vips=False))
