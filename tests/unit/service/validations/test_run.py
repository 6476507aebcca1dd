# SPDX-License-Identifier: Apache-2.0
"""Verdicts are kept, asked for again and shown as they should be."""

from __future__ import annotations

from random import Random
from typing import Any, get_args

import msgspec
import pytest

from muster.model.wire.enums import ClusterValidationId, HostValidationId
from muster.model.wire.inventory import Cpu
from muster.service.parts import changed_parts
from muster.service.state import Peer, Verdict
from muster.service.validations.registry import CLUSTER, HOST, ClusterView, HostView
from muster.service.validations.run import (
    OWN,
    affected_of_cluster,
    affected_of_host,
    concerned_peers,
    judge_cluster,
    judge_host,
    validations,
    validations_info,
)
from tests.unit.service.validations.making import NOW, cluster, cluster_view, host, host_view, inventory

EMPTY: dict[str, Any] = {
    "inventory": None,
    "requested_hostname": "",
    "asked": "",
    "groups": (),
    "networks": (),
    "ntp_sources": None,
    "clock_offset_s": None,
    "resolutions": None,
    "disk_speeds": {},
    "images": (),
}


def test_a_good_host_passes_everything() -> None:
    assert {verdict.status for verdict in judge_host(host_view())} == {"success", "suppressed"}


def test_a_good_cluster_passes_everything() -> None:
    assert {verdict.status for verdict in judge_cluster(cluster_view())} == {"success", "suppressed"}


def test_verdicts_are_in_the_order_of_the_interface() -> None:
    for ids, found in (
        (get_args(HostValidationId), judge_host(host_view())),
        (get_args(ClusterValidationId), judge_cluster(cluster_view())),
    ):
        places = [ids.index(verdict.id) for verdict in found if verdict.id not in OWN]
        assert places == sorted(places)
        assert {verdict.id for verdict in found[len(places) :]} <= OWN  # Ours come after them.


def test_a_host_of_which_nothing_is_known_can_be_judged() -> None:
    found = {verdict.id: verdict.status for verdict in judge_host(host_view(**EMPTY))}
    assert found["has-inventory"] == "failure"
    assert found["hostname-valid"] == "pending"
    assert "error" not in found.values()


def test_a_pool_host_is_asked_only_what_needs_no_cluster() -> None:
    for values in ({}, EMPTY):
        found = judge_host(host_view(cluster=None, peers_=(), **values))
        asked = {verdict.id for verdict in found if verdict.status != "suppressed"}
        assert asked <= {each.id for each in validations("host") if each.pool}
        assert {"has-min-cpu-cores", "has-min-memory", "has-min-valid-disks", "hostname-valid"} <= asked


def test_a_cluster_that_only_gets_more_hosts_is_not_judged() -> None:
    assert judge_cluster(cluster_view(kind="AddHostsCluster")) == ()


def test_only_the_ids_given_are_asked_again() -> None:
    before = judge_host(host_view())
    worse = host_view(ntp_sources=(), silent=True)
    after = judge_host(worse, {"ntp-synced"}, before)
    changed = {new.id for old, new in zip(before, after, strict=True) if old != new}
    assert changed == {"ntp-synced"}
    assert judge_host(worse, {"ntp-synced", "connected"}, before) == judge_host(worse)


def test_what_was_not_said_before_is_asked() -> None:
    whole = judge_cluster(cluster_view())
    assert judge_cluster(cluster_view(), set(), whole[:3]) == whole
    assert judge_cluster(cluster_view(), set(), ()) == whole
    assert judge_cluster(cluster_view(), set(), tuple(reversed(whole))) == whole


def test_a_disabled_validation_says_so_and_is_not_asked() -> None:
    view = host_view(silent=True)
    found = {each.id: each for each in judge_host(view, disabled={"connected"})}
    assert found["connected"].status == "disabled"
    listed = host_view(silent=True, cluster={"ignored_host_validations": ("ntp-synced",)})
    found = {each.id: each for each in judge_host(listed, disabled={"connected"})}
    assert found["connected"].status == "failure"
    of_cluster = judge_cluster(cluster_view(pull_secret=""), disabled={"pull-secret-set"})
    assert {each.status for each in of_cluster} == {"success", "suppressed", "disabled"}


def test_a_change_asks_those_that_read_the_field() -> None:
    assert affected_of_host(host={"ntp_sources"}) == {"ntp-synced"}
    assert affected_of_host(cluster={"disk_encryption"}) == {"disk-encryption-requirements-satisfied"}
    assert affected_of_host(peers={"role"}) == {
        "sufficient-network-latency-requirement-for-role",
        "sufficient-packet-loss-requirement-for-role",
    }
    assert affected_of_host(host={"status_info"}, cluster={"tags"}, peers={"inventory"}) == frozenset()
    assert affected_of_cluster(cluster={"pull_secret"}) == {"pull-secret-set"}
    assert affected_of_cluster(hosts={"status"}) == {"all-hosts-are-ready-to-install"}


def test_what_decides_about_all_asks_all() -> None:
    assert affected_of_host(host={"cluster_id"}) == HOST.keys()
    assert affected_of_host(cluster={"ignored_host_validations"}) == HOST.keys()
    assert affected_of_cluster(cluster={"kind"}) == CLUSTER.keys()


@pytest.mark.parametrize("of_all", [False, True])
def test_asking_only_the_affected_is_as_good_as_asking_all(of_all: bool) -> None:
    """For every field that can change: the verdicts are those of asking everything anew."""
    before = host_view()
    verdicts = judge_host(before)
    empty = {**EMPTY, "silent": True, "media_status": "disconnected", "twins": ("a",), "collisions": ("a b",)}
    for name, value in empty.items():
        after = host_view(**({**empty} if of_all else {name: value}))
        changed = {
            *(empty if of_all else {name}),
            *changed_parts(before.host.inventory, after.host.inventory),
        }
        assert judge_host(after, affected_of_host(host=changed), verdicts) == judge_host(after), name


def test_most_changes_concern_nobody_else() -> None:
    one = host(1)
    hosts = {each.id: each for each in (one, host(2), host(3))}
    for name, value in EMPTY.items():
        if name != "requested_hostname":
            after = msgspec.structs.replace(one, **{name: value})
            assert concerned_peers(one, after, {name}, hosts) == frozenset(), name


def test_what_a_host_says_of_a_peer_concerns_that_one() -> None:
    before = host(1, peers={"host-id-3": Peer(loss_percent=2)})
    after = msgspec.structs.replace(before, peers={**before.peers, "host-id-2": Peer(loss_percent=1)})
    hosts = {each.id: each for each in (after, host(2), host(3))}
    assert concerned_peers(before, after, {"peers"}, hosts) == {"host-id-2"}
    assert concerned_peers(before, before, {"peers"}, hosts) == frozenset()


def test_a_new_name_concerns_those_between_whom_and_it_something_is_wrong() -> None:
    before = host(1, peers={"host-id-3": Peer(loss_percent=2)})
    after = msgspec.structs.replace(before, requested_hostname="new")
    far = host(4, peers={"host-id-1": Peer(rtt_ms=200)})
    hosts = {each.id: each for each in (after, host(2), host(3), far)}
    assert concerned_peers(before, after, {"requested_hostname"}, hosts) == {"host-id-3", "host-id-4"}
    assert concerned_peers(before, None, set(msgspec.structs.asdict(before)), hosts) == {
        "host-id-3",
        "host-id-4",
    }


def test_what_all_peers_are_asked_concerns_all() -> None:
    before = host(1)
    after = msgspec.structs.replace(before, fencing_credentials="sealed")
    hosts = {each.id: each for each in (after, host(2))}
    assert concerned_peers(before, after, {"fencing_credentials"}, hosts) == hosts.keys()
    born = set(msgspec.structs.asdict(before))
    assert concerned_peers(None, before, born, hosts) == frozenset()


def test_verdicts_are_shown_by_category_without_those_that_are_suppressed() -> None:
    shown = validations_info(judge_host(host_view()), "host")
    assert set(shown) == {"network", "hardware"}
    assert {"id": "connected", "status": "success", "message": "the host asks for instructions"} in shown[
        "network"
    ]
    assert "compatible-agent" not in {each["id"] for each in shown["hardware"]}
    of_cluster = validations_info(judge_cluster(cluster_view()), "cluster")
    assert set(of_cluster) == {"network", "hosts-data", "configuration"}
    assert validations_info([Verdict(id="unheard-of", status="success")], "host") == {}


FIELDS: dict[str, tuple[Any, ...]] = {
    "peers": (
        {},
        {"host-id-1": Peer(silent=("192.0.2.11 did not answer ping",))},
        {"host-id-2": Peer(silent=("192.0.2.12 did not answer ping",), rtt_ms=200)},
        {"host-id-3": Peer(loss_percent=3, small_packets=("192.0.2.13 is too small",))},
    ),
    "groups": ((), ("192.0.2.0/24",)),
    "role": ("auto-assign", "worker", "master"),
    "suggested_role": ("auto-assign", "master"),
    "requested_hostname": ("", "a", "b"),
    "asked": ("", "2", "e"),
    "fencing_credentials": ("", "sealed"),
    "inventory": (
        *(None, inventory(1), inventory(2), inventory(1, hostname="c"), inventory(1, disks=None)),
        *(inventory(2, cpu=Cpu(count=1)), inventory(1, memory=None), inventory(2, interfaces=None)),
        *(inventory(1, routes=None), inventory(2, system_vendor=None), inventory(1, tpm_version=None)),
    ),
    "status": ("known", "insufficient"),
    "clock_offset_s": (None, 0, 900),
    "networks": ((), ("192.0.2.0/24",)),
}


@pytest.mark.parametrize("seed", range(20))
def test_a_chain_of_changes_ends_where_asking_all_ends(seed: int) -> None:
    """Hosts change one after the other; each time only those are asked that are said to be concerned."""
    chance = Random(seed)
    whole = cluster(control_plane_count=chance.choice((2, 3)))
    hosts = {each.id: each for each in (host(number) for number in range(1, 5))}
    verdicts = {id: judge_host(HostView(each, whole, hosts, NOW)) for id, each in hosts.items()}
    of_cluster = judge_cluster(ClusterView(whole, hosts, NOW))
    for _ in range(30):
        id = chance.choice(list(hosts))
        changed = set(chance.sample(list(FIELDS), chance.randint(1, 3)))
        before = hosts[id]
        hosts[id] = msgspec.structs.replace(before, **{name: chance.choice(FIELDS[name]) for name in changed})
        changed |= changed_parts(before.inventory, hosts[id].inventory)
        for peer in concerned_peers(before, hosts[id], changed, hosts) - {id}:
            view = HostView(hosts[peer], whole, hosts, NOW)
            verdicts[peer] = judge_host(view, affected_of_host(peers=changed), verdicts[peer])
        view = HostView(hosts[id], whole, hosts, NOW)
        verdicts[id] = judge_host(view, affected_of_host(host=changed), verdicts[id])
        for each, found in verdicts.items():
            assert found == judge_host(HostView(hosts[each], whole, hosts, NOW)), (each, changed)
        seen = ClusterView(whole, hosts, NOW)
        of_cluster = judge_cluster(seen, affected_of_cluster(hosts=changed), of_cluster)
        assert of_cluster == judge_cluster(seen)
