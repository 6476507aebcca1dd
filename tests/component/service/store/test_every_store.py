# SPDX-License-Identifier: Apache-2.0
"""What holds for every store."""

from __future__ import annotations

import threading

import pytest

from muster.service.realm import Draft, Realm
from muster.service.store.memory import MemoryStore
from muster.service.store.port import Change, ConflictError, Store, StoreError, Wanted
from tests.component.service.conftest import Reopen
from tests.realms import NOW, begin, decide, make_cluster, make_host, rename


def by_id(store: Store) -> dict[str, Realm]:
    return {realm.id: realm for realm in store.load()}


def test_a_new_store_is_empty(store: Store) -> None:
    assert list(store.load()) == []
    assert list(store.log()) == []
    assert store.told(Wanted()) == []
    assert store.document("c1", "c1", "a") is None
    assert store.documents("c1") == {}
    assert store.news("c1", 0) == (0, [])


def test_what_was_committed_is_there_after_it_was_opened_again(reopen: Reopen) -> None:
    first, second = Realm("c1"), Realm("c2")
    store = reopen()
    store.commit([begin(first, hosts=3), begin(second), rename(first, "a"), rename(first, "b")])
    store.commit([rename(first, "c")])
    again = reopen()
    assert by_id(again) == {"c1": first, "c2": second}
    assert first.version == 4
    assert list(again.load("c2")) == [second]
    assert list(again.load("c3")) == []
    versions = [(each.realm, each.version) for each in again.log()]
    assert versions == [*[("c1", 1)] * 4, ("c2", 1), ("c1", 2), ("c1", 3), ("c1", 4)]


def test_subjects_go_away(store: Store) -> None:
    realm = Realm("c1")
    store.commit([begin(realm, hosts=2)])
    store.commit([decide(realm, lambda draft: draft.remove(draft.hosts["h0"]))])
    (loaded,) = store.load()
    assert loaded == realm
    assert list(loaded.hosts) == ["h1"]


def test_an_empty_realm_keeps_its_version(store: Store) -> None:
    realm = Realm("c1")
    store.commit([begin(realm)])
    store.commit([decide(realm, lambda draft: draft.remove(draft.cluster))])
    assert list(store.load()) == [Realm("c1", 2)]
    with pytest.raises(ConflictError):
        store.commit([begin(Realm("c1"))])


def test_a_host_moves_from_one_realm_to_the_other(store: Store) -> None:
    start, end = Realm("c1"), Realm("c2")
    store.commit([begin(start, hosts=1), begin(end)])
    host = start.hosts["h0"]
    store.commit(
        [
            decide(start, lambda draft: draft.remove(host)),
            decide(end, lambda draft: draft.add(host)),
        ]
    )
    assert by_id(store) == {"c1": start, "c2": end}
    assert end.hosts == {"h0": host}


@pytest.mark.parametrize("late", [0, 1, 2])
def test_who_was_slower_writes_nothing(store: Store, late: int) -> None:
    """Neither his own change nor its neighbours in the same commit, wherever he stands among them."""
    realms = [Realm(f"c{number}") for number in range(3)]
    store.commit([begin(realm) for realm in realms])
    stale = next(iter(store.load(f"c{late}")))
    store.commit([rename(stale, "quick")])
    before, log = by_id(store), list(store.log())
    changes = [_with_file(rename(realm, "slow")) for realm in realms]
    with pytest.raises(ConflictError) as caught:
        store.commit(changes)
    assert caught.value.realm == f"c{late}"
    assert by_id(store) == before
    assert list(store.log()) == log
    assert not [realm for realm in before if store.documents(realm)]


def _with_file(change: Change) -> Change:
    return Change(change.realm, change.version, change.events, change.rows, {("c1", "a"): b"x"})


def test_a_realm_begins_once(store: Store) -> None:
    store.commit([begin(Realm("c1"))])
    with pytest.raises(ConflictError):
        store.commit([begin(Realm("c2")), begin(Realm("c1"))])
    assert list(by_id(store)) == ["c1"]


def test_a_version_is_not_left_out(store: Store) -> None:
    realm = Realm("c1")
    store.commit([begin(realm)])
    lost = rename(realm, "lost")
    later = rename(realm, "later")
    with pytest.raises(ConflictError):
        store.commit([later])
    with pytest.raises(ConflictError):
        store.commit([later, lost])
    with pytest.raises(ConflictError):
        store.commit([lost, lost])
    store.commit([lost, later])
    assert list(store.load()) == [realm]


def test_after_a_failure_it_goes_on(store: Store) -> None:
    """After a failure in the middle of a commit nothing of it is left, and the next one works."""
    realm = Realm("c1")
    store.commit([begin(realm)])
    before = list(store.load("c1"))
    bad = Change("c1", 2, (), {("host", "h1"): object()}, {("c1", "a"): b"x"})  # type: ignore[dict-item]
    if not isinstance(store, MemoryStore):  # It keeps what it is given.
        with pytest.raises(TypeError):
            store.commit([bad])
    assert list(store.load("c1")) == before
    assert store.documents("c1") == {}
    store.commit([rename(realm, "good")])
    assert list(store.load("c1")) == [realm]


def test_the_log_from_a_place_on(store: Store) -> None:
    first, second = Realm("c1"), Realm("c2")
    store.commit([begin(first), begin(second)])
    for number in range(5):
        store.commit([rename(first, f"a{number}"), rename(second, f"b{number}")])
    log = list(store.log())
    assert [each.sequence for each in log] == sorted({each.sequence for each in log})
    names = [each.event.values["name"] for each in log[2:]]
    assert names == [name for number in range(5) for name in (f"a{number}", f"b{number}")]
    assert list(store.log(after=log[6].sequence)) == log[7:]
    of_second = [each for each in log if each.realm == "c2"]
    assert list(store.log("c2")) == of_second
    assert list(store.log("c2", after=of_second[2].sequence)) == of_second[3:]


def test_a_long_log_is_read_in_pages(store: Store) -> None:
    first, second = Realm("c1"), Realm("c2")
    store.commit([begin(first), begin(second)])
    store.commit([rename(realm, str(number)) for number in range(1250) for realm in (first, second)])
    assert len(list(store.log())) == 2502
    names = [each.event.values["name"] for each in store.log("c1")][1:]
    assert names == [str(number) for number in range(1250)]


def test_news_of_a_realm(store: Store) -> None:
    realm = Realm("c1")
    store.commit([begin(Realm("c2")), begin(realm), rename(realm, "a"), rename(realm, "b")])
    store.commit([decide(realm, lambda draft: draft.documents.update({("c1", "f"): b"x"}))])
    version, news = store.news("c1", 2)
    assert version == 4
    assert [(each.version, each.event.values) for each in news] == [(3, {"name": "b"})]
    assert len(store.news("c1", 0)[1]) == 3
    assert store.news("c1", 4) == (4, [])


def _tell_things(draft: Draft) -> None:
    draft.add(make_cluster())
    draft.add(make_host("h1"))
    draft.add(make_host("h2"))
    draft.tell(draft.cluster, "one", "The cluster is there")
    draft.tell(draft.hosts["h1"], "two", "host is slow: 100%", severity="warning", disk="sda")
    draft.tell(draft.hosts["h2"], "three", "host is lost", severity="critical")
    draft.change(draft.hosts["h2"], role="worker")


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (Wanted(), ["one", "two", "three", "other"]),
        (Wanted(realms=frozenset()), []),
        (Wanted(realms=frozenset({"c1"})), ["one", "two", "three"]),
        (Wanted(realms=frozenset({"c1", "c2", "c3"})), ["one", "two", "three", "other"]),
        (Wanted(severities=frozenset({"warning", "critical"})), ["two", "three"]),
        (Wanted(host_ids=frozenset({"h1"})), ["one", "two", "other"]),
        (Wanted(host_ids=frozenset({"h1"}), cluster_level=False), ["two"]),
        (Wanted(message="HOST is"), ["two", "three"]),
        (Wanted(message="%"), ["two"]),
        (Wanted(categories=frozenset({"metrics"})), []),
    ],
)
def test_what_people_are_told(store: Store, wanted: Wanted, names: list[str]) -> None:
    first, second = Realm("c1"), Realm("c2")

    def tell_other(draft: Draft) -> None:
        draft.add(make_cluster("c2"))
        draft.tell(draft.cluster, "other", "another one")

    store.commit([decide(first, _tell_things), decide(second, tell_other)])
    assert [each.event.name for each in store.told(wanted)] == names


def test_an_event_is_told_as_it_was(store: Store) -> None:
    store.commit([decide(Realm("c1"), _tell_things)])
    (event,) = (each.event for each in store.told(Wanted(message="slow")))
    assert (event.at, event.kind, event.id, event.severity) == (NOW, "host", "h1", "warning")
    assert event.props == {"disk": "sda"}


def test_documents(reopen: Reopen) -> None:
    realm = Realm("c1")
    store = reopen()
    files: dict[tuple[str, str], bytes | None] = {
        ("c1", "manifests/größe.yaml"): b"a: 1\n",
        ("c1", "empty"): b"",
        ("h1", "logs"): bytes(range(256)) * 4096,
    }
    store.commit([begin(realm), decide(realm, lambda draft: draft.documents.update(files))])
    again = reopen()
    for (subject, name), body in files.items():
        assert again.document("c1", subject, name) == body
    assert again.documents("c1") == {
        ("c1", "manifests/größe.yaml"): 5,
        ("c1", "empty"): 0,
        ("h1", "logs"): 1 << 20,
    }
    assert again.documents("c1", "h1") == {("h1", "logs"): 1 << 20}
    assert again.documents("c2") == {}
    changed: dict[tuple[str, str], bytes | None] = {("c1", "empty"): b"full", ("h1", "logs"): None}
    again.commit([decide(realm, lambda draft: draft.documents.update(changed))])
    assert store.documents("c1", "c1") == {("c1", "manifests/größe.yaml"): 5, ("c1", "empty"): 4}
    assert store.document("c1", "h1", "logs") is None


def test_two_who_write_one_realm_lose_nothing(reopen: Reopen) -> None:
    """Each writes when it was the quicker one, and looks again when not: every version is there, once."""
    reopen().commit([begin(Realm("c1"))])
    written: list[str] = []

    def write(who: str) -> None:
        store = reopen()
        for number in range(20):
            while True:
                realm = next(iter(store.load("c1")))
                try:
                    store.commit([rename(realm, f"{who}{number}")])
                except ConflictError:
                    continue
                written.append(f"{who}{number}")
                break

    threads = [threading.Thread(target=write, args=(who,)) for who in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log = list(reopen().log("c1"))
    assert [each.version for each in log] == list(range(1, 42))
    assert sorted(each.event.values["name"] for each in log[1:]) == sorted(written)
    assert len(written) == 40


def test_a_conflict_is_a_failure_with_a_way_out() -> None:
    error = ConflictError("c1")
    assert isinstance(error, StoreError)
    assert "c1" in error.message
    assert error.hint
