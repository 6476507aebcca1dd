# SPDX-License-Identifier: Apache-2.0
"""Drafts show what they change, and the events of a draft make the same of the realm."""

from __future__ import annotations

from muster.service.realm import MOST_MESSAGE, Cause, Draft, Realm, fold
from tests.unit.service.hosts import CLUSTER, NOW, host_id, make_host, make_realm


def replayed(before: Realm, draft: Draft) -> Realm:
    again = Realm(before.id, before.version, before.cluster, before.infra_env, dict(before.hosts))
    for event in draft.events:
        fold(again, event)
    return again


def test_a_draft_leaves_the_realm_alone_until_it_is_applied() -> None:
    realm = make_realm(2)
    draft = Draft(realm, NOW)
    host = draft.hosts[host_id(1)]
    draft.change(host, requested_hostname="a")
    draft.remove(draft.hosts[host_id(2)])
    draft.add(make_host(3))
    assert realm.hosts[host_id(1)].requested_hostname == ""
    assert [each.number for each in draft.hosts.values()] == [1, 3]
    assert len(draft.hosts) == 2
    again = replayed(realm, draft)
    draft.apply()
    assert realm.hosts == again.hosts
    assert sorted(realm.hosts) == [host_id(1), host_id(3)]


def test_what_is_the_same_is_no_change() -> None:
    draft = Draft(make_realm(1), NOW)
    draft.change(draft.hosts[host_id(1)], role="auto-assign", bootstrap=False)
    assert draft.events == []
    assert draft.take_changes() == {}


def test_changes_in_a_row_are_one_event_with_what_is_told() -> None:
    draft = Draft(make_realm(1), NOW, Cause("request-1", "user:1"))
    draft.change(draft.hosts[host_id(1)], role="master")
    draft.change(draft.hosts[host_id(1)], bootstrap=True)
    draft.tell(draft.hosts[host_id(1)], "host_role_updated", "it is a master now", role="master")
    draft.tell(draft.hosts[host_id(1)], "second", "something else")
    first, second = draft.events
    assert first.values == {"role": "master", "bootstrap": True}
    assert (first.name, first.props, first.request_id) == (
        "host_role_updated",
        {"role": "master"},
        "request-1",
    )
    assert second.name == "second"
    assert draft.take_changes() == {("host", host_id(1)): {"role", "bootstrap"}}


def test_touched_is_what_has_a_row_to_write() -> None:
    draft = Draft(make_realm(2), NOW)
    draft.tell(draft.cluster, "x", "only told")
    draft.change(draft.hosts[host_id(1)], role="worker")
    draft.remove(draft.hosts[host_id(2)])
    rows = draft.touched()
    assert set(rows) == {("host", host_id(1)), ("host", host_id(2))}
    assert rows["host", host_id(2)] is None


def test_a_cluster_that_goes_takes_the_realm_with_it() -> None:
    realm = make_realm(1)
    draft = Draft(realm, NOW)
    for host in list(draft.hosts.values()):
        draft.remove(host)
    draft.remove(draft.cluster)
    assert draft.is_gone
    draft.apply()
    assert list(realm.subjects()) == []
    assert realm.find("cluster", CLUSTER) is None


def test_a_message_that_is_too_long_is_cut() -> None:
    draft = Draft(make_realm(1), NOW)
    draft.tell(draft.cluster, "x", "y" * MOST_MESSAGE)
    draft.tell(draft.cluster, "x", "y" * (4 << 20))
    whole, cut = (each.message for each in draft.events)
    assert whole == "y" * MOST_MESSAGE
    assert len(cut) == MOST_MESSAGE
    assert cut.endswith("y … (cut)")
