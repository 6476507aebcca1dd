# SPDX-License-Identifier: Apache-2.0
"""Who becomes what when nobody said so."""

from __future__ import annotations

from typing import Any

from muster.model.wire.inventory import Cpu, Gpu
from muster.service.derive.roles import choose_bootstrap
from muster.service.derive.run import derive
from muster.service.realm import Draft, Realm
from tests.unit.service.hosts import (
    NOW,
    address,
    all_told,
    host_id,
    make_host,
    make_inventory,
    make_realm,
    settle,
    tell_inventory,
)


def roles(realm: Realm) -> list[str]:
    return [host.suggested_role for host in realm.hosts.values()]


def cores(count: int) -> dict[str, Any]:
    return {"cpu": Cpu(count=count, architecture="x86_64")}


def test_nobody_gets_a_role_before_all_told_what_they_are() -> None:
    realm = make_realm(4)
    for number in (1, 2, 3):
        tell_inventory(realm, number)
    assert roles(realm) == ["auto-assign"] * 4
    tell_inventory(realm, 4)
    assert roles(realm) == ["master", "master", "master", "worker"]


def test_the_weakest_are_the_control_plane_and_gpus_stay_workers() -> None:
    realm = make_realm(5)
    tell_inventory(realm, 1, **cores(64))
    tell_inventory(realm, 2, **cores(4), gpus=(Gpu(vendor="Example"),))
    for number in (3, 4, 5):
        tell_inventory(realm, number, **cores(8 + number))
    assert roles(realm) == ["worker", "worker", "master", "master", "master"]
    reason = realm.hosts[host_id(3)].role_reason
    assert reason == "it is among the 3 weakest hosts that are enough for the control plane"


def test_a_host_that_is_not_enough_is_passed_over() -> None:
    realm = all_told(4)
    draft = Draft(realm, NOW)
    draft.change(draft.cluster, openshift_version="4.19.0")
    derive(draft, draft.take_changes(), lambda host, role: role == "worker" or host.number != 1)
    draft.apply()
    assert roles(realm) == ["worker", "master", "master", "master"]
    assert realm.hosts[host_id(1)].role_reason == "it is not enough for the control plane"


def test_given_roles_count_and_stay() -> None:
    realm = all_told(4)
    draft = Draft(realm, NOW)
    draft.change(draft.hosts[host_id(4)], role="master", suggested_role="master", role_reason="given")
    settle(draft)
    assert roles(realm) == ["master", "master", "worker", "master"]
    assert realm.hosts[host_id(4)].role_reason == "given"


def test_two_and_an_arbiter() -> None:
    assert roles(all_told(4, control_plane_count=2)) == ["master", "master", "arbiter", "worker"]


def test_nothing_changes_once_the_installation_began() -> None:
    realm = all_told(3)
    draft = Draft(realm, NOW)
    draft.change(draft.cluster, status="installing")
    draft.change(draft.hosts[host_id(3)], inventory=make_inventory(3, **cores(2)))
    settle(draft)
    draft = Draft(realm, NOW)
    draft.add(make_host(9, inventory=make_inventory(9)))
    settle(draft)
    assert realm.hosts[host_id(9)].suggested_role == "auto-assign"


def test_people_are_told_of_a_suggestion() -> None:
    realm = make_realm(1, control_plane_count=1)
    draft = tell_inventory(realm, 1)
    told = [each.message for each in draft.events if each.name == "host_role_updated"]
    assert told == ["Host host-1: suggested role is master: the only host is the control plane"]


def test_masters_work_while_there_are_too_few_workers() -> None:
    realm = all_told(4)
    assert realm.cluster is not None
    assert realm.cluster.schedulable_masters_forced_true
    draft = Draft(realm, NOW)
    draft.add(make_host(5, inventory=make_inventory(5)))
    settle(draft)
    assert roles(realm).count("worker") == 2
    assert not realm.cluster.schedulable_masters_forced_true


def test_a_host_that_goes_leaves_its_role_to_another() -> None:
    realm = all_told(4)
    draft = Draft(realm, NOW)
    draft.remove(realm.hosts[host_id(1)])
    settle(draft)
    assert roles(realm) == ["master", "master", "master"]


def test_who_begins() -> None:
    hosts = [
        make_host(1, role="master"),
        make_host(2, role="master", inventory=make_inventory(2)),
        make_host(3, suggested_role="master"),
        make_host(4, role="worker"),
    ]
    last = choose_bootstrap(hosts)
    assert last is not None
    assert (last.host.number, last.reason) == (3, "it is the control plane host that came last")
    rendezvous = choose_bootstrap(hosts, address(2))
    assert rendezvous is not None
    assert (rendezvous.host.number, rendezvous.reason) == (2, f"it has the rendezvous address {address(2)}")
    kept = choose_bootstrap([*hosts, make_host(5, role="master", bootstrap=True)], address(2))
    assert kept is not None
    assert (kept.host.number, kept.reason) == (5, "it was chosen before")
    assert choose_bootstrap(hosts[3:]) is None


def test_a_host_that_comes_to_a_cluster_that_is_there_is_a_worker() -> None:
    realm = make_realm(1)
    draft = Draft(realm, NOW)
    draft.change(draft.cluster, kind="AddHostsCluster", status="adding-hosts")
    draft.take_changes()
    draft.apply()
    assert roles(realm) == ["auto-assign"]
    tell_inventory(realm, 1)
    assert roles(realm) == ["worker"]
