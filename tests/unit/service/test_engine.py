# SPDX-License-Identifier: Apache-2.0
"""The engine finds, changes, moves and forgets; timers come when they are due."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest

from muster.service.engine import BOOTSTRAP_SILENCE, SILENCE, Engine
from muster.service.realm import Draft, Realm
from muster.service.refusals import BadRequest, NotFound
from muster.service.state import InfraEnv, Waiting
from tests.unit.service.hosts import CLUSTER, INFRA_ENV, NOW, host_id, make_host, make_realm


def engine_with(hosts: int) -> Engine:
    engine = Engine(lambda draft: None)
    pool = Realm(INFRA_ENV)
    pool.infra_env = InfraEnv(id=INFRA_ENV, name="env", created_at=NOW, updated_at=NOW, cluster_id=CLUSTER)
    engine.load([make_realm(hosts), pool], NOW)
    return engine


def test_it_finds_what_it_holds() -> None:
    engine = engine_with(3)
    assert engine.cluster(CLUSTER).name == "muster"
    assert engine.infra_env(INFRA_ENV).name == "env"
    assert [host.number for host in engine.hosts_of(INFRA_ENV)] == [1, 2, 3]
    assert [each.id for each in engine.clusters()] == [CLUSTER]
    with pytest.raises(NotFound, match="host nobody is not there"):
        engine.host("nobody")
    with pytest.raises(NotFound, match="is not in infra-env other"):
        engine.host(host_id(1), "other")


def tag(draft: Draft) -> str:
    draft.change(draft.cluster, tags="a")
    return "done"


def test_a_change_has_a_version_and_a_refusal_has_none() -> None:
    engine = engine_with(1)
    realm = engine.realm_of("cluster", CLUSTER)
    change, answer = engine.change(realm, tag, NOW)
    assert answer == "done"
    assert change is not None
    assert (change.version, realm.version, set(change.rows)) == (1, 1, {("cluster", CLUSTER)})
    assert engine.change(realm, tag, NOW)[0] is None

    def refuse(draft: Draft) -> None:
        draft.change(draft.cluster, tags="half")
        raise BadRequest("no")

    with pytest.raises(BadRequest):
        engine.change(realm, refuse, NOW)
    assert engine.cluster(CLUSTER).tags == "a"
    assert realm.version == 1


def test_a_reaction_that_fails_leaves_nothing_half_remembered() -> None:
    def fail(draft: Draft) -> None:
        draft.realm.cache["half"] = True
        raise ZeroDivisionError

    engine = Engine(fail)
    engine.load([make_realm(1)], NOW)
    with pytest.raises(ZeroDivisionError):
        engine.change(engine.realms[CLUSTER], lambda draft: draft.change(draft.cluster, tags="x"), NOW)
    assert engine.realms[CLUSTER].cache == {}
    assert engine.cluster(CLUSTER).tags == ""


def test_a_host_moves_between_realms() -> None:
    engine = engine_with(2)
    start, end = engine.realms[CLUSTER], engine.realms[INFRA_ENV]

    def move(first: Draft, second: Draft) -> None:
        host = first.hosts[host_id(2)]
        first.remove(host)
        second.add(make_host(2, cluster_id=None, status="known-unbound"))

    changes, _ = engine.move((start, end), move, NOW)
    assert [each.realm for each in changes] == [CLUSTER, INFRA_ENV]
    assert engine.realm_of("host", host_id(2)) is end
    assert [host.number for host in engine.hosts_of(INFRA_ENV)] == [1, 2]
    assert sorted(start.hosts) == [host_id(1)]


def test_what_is_removed_is_not_found_and_has_no_timers() -> None:
    engine = engine_with(1)
    engine.change(
        engine.realms[CLUSTER],
        lambda draft: draft.remove(draft.hosts[host_id(1)]),
        NOW + timedelta(seconds=1),
    )
    with pytest.raises(NotFound):
        engine.host(host_id(1))
    assert engine.due(NOW + timedelta(days=1)) == []
    assert engine.hosts_of(INFRA_ENV) == []


def test_silence_is_due_once_and_put_off_by_every_word() -> None:
    engine = engine_with(1)
    id, half = host_id(1), SILENCE / 2
    engine.heard[id] = NOW + half
    assert engine.next_due() == NOW + SILENCE
    assert engine.due(NOW + SILENCE) == [(engine.realms[CLUSTER], "host", id)]
    assert not engine.is_silent(engine.host(id), NOW + SILENCE)
    assert engine.next_due() == NOW + half + SILENCE
    assert engine.is_silent(engine.host(id), NOW + half + SILENCE)


def test_the_host_that_begins_may_be_silent_for_longer() -> None:
    engine = engine_with(1)
    host = make_host(1, bootstrap=True)
    assert not engine.is_silent(host, NOW + SILENCE)
    assert engine.is_silent(host, NOW + BOOTSTRAP_SILENCE)


def wait(waiting: Waiting, number: int, draft: Draft) -> None:
    draft.change(draft.cluster, waiting=waiting, tags=str(number))


def test_a_deadline_is_one_timer_however_often_the_row_is_written() -> None:
    engine = engine_with(0)
    realm = engine.realms[CLUSTER]
    waiting = Waiting(kind="x", since=NOW, until=NOW + timedelta(minutes=1))
    for number in range(20):
        engine.change(realm, partial(wait, waiting, number), NOW)
    assert engine.due(NOW + timedelta(minutes=1)) == [(realm, "cluster", CLUSTER)]
    assert engine.next_due() is None


def test_a_realm_that_is_loaded_again_keeps_when_its_hosts_were_heard() -> None:
    """Who conflicts with others all the time still notices a host that is lost, and collects no timers."""
    engine = engine_with(2)
    engine.hear(host_id(1), NOW + SILENCE / 2)
    fresh = make_realm(2)
    fresh.hosts[host_id(3)] = make_host(3)
    del fresh.hosts[host_id(2)]
    for number in range(5):
        engine.load([fresh], NOW + SILENCE / 2 + timedelta(seconds=number))
    assert engine.realms[CLUSTER] is fresh
    assert engine.heard == {host_id(1): NOW + SILENCE / 2, host_id(3): NOW + SILENCE / 2}
    with pytest.raises(NotFound):
        engine.host(host_id(2))
    looked_at = [id for _, _, id in engine.due(NOW + SILENCE * 2)]
    assert sorted(looked_at) == [host_id(1), host_id(3)]


def test_nobody_is_heard_whom_nobody_knows() -> None:
    engine = engine_with(1)
    engine.hear("stranger", NOW)
    assert list(engine.heard) == [host_id(1)]


def test_what_others_decided_is_folded_in() -> None:
    ours, theirs = engine_with(2), engine_with(2)
    waiting = Waiting(kind="x", since=NOW, until=NOW + timedelta(minutes=1))

    def decide(draft: Draft) -> None:
        draft.change(draft.cluster, waiting=waiting, tags="theirs")
        draft.remove(draft.hosts[host_id(2)])
        draft.add(make_host(3))

    change, _ = theirs.change(theirs.realms[CLUSTER], decide, NOW)
    assert change is not None
    realm = ours.realms[CLUSTER]
    realm.cache["old"] = True
    ours.follow(realm, change.version, change.events, NOW)
    assert (realm.version, realm.cache) == (1, {})
    assert list(realm.subjects()) == list(theirs.realms[CLUSTER].subjects())
    assert sorted(ours.heard) == [host_id(1), host_id(3)]
    assert ours.due(NOW + timedelta(minutes=1)) == [(realm, "cluster", CLUSTER)]


def test_all_timers_go_along_with_the_clock() -> None:
    for jump in (timedelta(days=365), timedelta(days=-365)):
        engine = engine_with(1)
        engine.wait("cluster", CLUSTER, NOW + timedelta(minutes=1))
        engine.shift(jump)
        now = NOW + jump
        assert not engine.is_silent(engine.host(host_id(1)), now)
        assert engine.due(now) == []
        assert [kind for _, kind, _ in engine.due(now + timedelta(minutes=1))] == ["cluster"]
        assert [kind for _, kind, _ in engine.due(now + SILENCE)] == ["host"]


def test_a_realm_that_nothing_came_into_is_dropped() -> None:
    engine = engine_with(0)
    engine.create("new")
    engine.drop_empty("new")
    engine.drop_empty("never")
    engine.change(engine.realms[CLUSTER], tag, NOW)
    engine.drop_empty(CLUSTER)
    assert sorted(engine.realms) == sorted([CLUSTER, INFRA_ENV])
