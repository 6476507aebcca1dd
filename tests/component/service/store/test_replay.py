# SPDX-License-Identifier: Apache-2.0
"""The log alone makes the state that the rows have, whatever was decided."""

from __future__ import annotations

import sqlite3
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muster.service.realm import Draft, Event, Realm, read_event
from muster.service.replay import Difference, check_store, compare, replay
from muster.service.state import TYPES, Cluster, Host, InfraEnv, Kind
from muster.service.store.memory import MemoryStore
from muster.service.store.open import FILE, open_store
from muster.service.store.port import Logged, Store, StoreError, decode_event, decode_subject, encode
from tests.component.service.conftest import Reopen
from tests.component.service.store.structs import changes, structs
from tests.realms import NOW, begin, decide, make_cluster, make_host, rename


@pytest.mark.parametrize("kind", TYPES)
def test_every_field_is_stored_as_it_is(kind: Kind) -> None:
    """Each field on its own, in a row and in an event."""
    of = TYPES[kind]

    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
    @given(structs(of))
    def check(subject: Any) -> None:
        assert decode_subject(kind, encode(subject)) == subject
        values = {each.name: getattr(subject, each.name) for each in msgspec.structs.fields(of)}
        event = decode_event(encode(Event(at=NOW, kind=kind, id="x", born=True, values=values)))
        assert read_event(kind, event).values == values

    check()


_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.sampled_from("abc"), structs(Host, id="x")),
        st.tuples(st.just("change"), st.sampled_from("abc"), changes(Host, "id")),
        st.tuples(st.just("remove"), st.sampled_from("abc"), st.none()),
        st.tuples(st.just("tell"), st.sampled_from("abc"), st.text(max_size=3)),
        st.tuples(st.just("cluster"), st.just(""), changes(Cluster, "id")),
        st.tuples(st.just("infra-env"), st.just(""), changes(InfraEnv, "id")),
        st.tuples(st.just("write"), st.just(""), st.none()),
    ),
    max_size=12,
)


def _do(draft: Draft, what: str, id: str, value: Any) -> None:
    """One step, if it makes sense."""
    if what == "cluster":
        draft.change(draft.cluster, **value)
    elif what == "infra-env":
        draft.change(draft.infra_env, **value)
    elif what == "add" and id not in draft.hosts:
        draft.add(msgspec.structs.replace(value, id=id))
    elif what == "change" and id in draft.hosts:
        draft.change(draft.hosts[id], **value)
    elif what == "remove" and id in draft.hosts:
        draft.remove(draft.hosts[id])
    elif what == "tell" and id in draft.hosts:
        draft.tell(draft.hosts[id], "told", value)


def _begin(draft: Draft) -> None:
    draft.add(make_cluster())
    draft.add(InfraEnv(id="i1", name="i", created_at=NOW, updated_at=NOW))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=_STEPS)
def test_random_decisions(store: Store, steps: list[tuple[str, str, Any]]) -> None:
    """The same realm again and again in one store: memory, the rows and a fold of the log agree."""
    realm = next(iter(store.load("c1")), None) or Realm("c1")
    if realm.version == 0:
        store.commit([decide(realm, _begin)])
    draft = Draft(realm, NOW)
    waiting = []
    for what, id, value in steps:
        if what != "write":
            _do(draft, what, id, value)
            continue
        waiting.append(decide(realm, lambda new, old=draft: _take(new, old)))  # type: ignore[misc]
        draft = Draft(realm, NOW)
    store.commit(waiting)
    assert list(store.load("c1")) == [realm]
    assert check_store(store) == []
    assert replay(store.log())["c1"].hosts == realm.hosts


def _take(new: Draft, old: Draft) -> None:
    """The state of a draft, in the place of another one of the same realm."""
    vars(new).update(vars(old))


def test_the_state_at_a_time() -> None:
    realm, store = Realm("c1"), MemoryStore()
    store.commit([begin(realm), *(rename(realm, f"n{number}", number) for number in (1, 2, 3))])

    def name_at(minutes: float) -> str:
        cluster = replay(store.log(), NOW + timedelta(minutes=minutes))["c1"].cluster
        assert cluster is not None
        return cluster.name

    assert [name_at(minutes) for minutes in (0, 1, 1.5, 2.9, 3, 99)] == ["ocp", "n1", "n1", "n2", "n3", "n3"]
    assert replay(store.log(), NOW - timedelta(seconds=1)) == {}
    assert replay(store.log()) == {"c1": realm}


def test_a_clock_that_was_put_back_leaves_no_gap() -> None:
    realm, store = Realm("c1"), MemoryStore()
    late = 60 * 24 * 365
    store.commit(
        [
            begin(realm),
            decide(realm, lambda draft: draft.add(make_host()), NOW + timedelta(minutes=late)),
            decide(realm, lambda draft: draft.change(draft.hosts["h1"], role="worker"), NOW),
            rename(realm, "future", late),
        ]
    )
    found = replay(store.log(), NOW)["c1"]
    assert found.hosts["h1"].role == "worker"
    assert found.cluster == make_cluster()


def test_what_the_rows_say_otherwise_is_found(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    first, second = Realm("c1"), Realm("c2")
    store.commit([begin(first, hosts=2), begin(second)])
    assert check_store(store) == []
    with sqlite3.connect(tmp_path / FILE) as db:
        db.execute("DELETE FROM subjects WHERE id = 'h0'")
        db.execute("UPDATE subjects SET body = replace(body, 'discovering', 'known') WHERE id = 'h1'")
        db.execute("UPDATE subjects SET body = replace(body, 'h1', 'h3') WHERE id = 'c2'")
        db.execute("DELETE FROM events WHERE realm = 'c2'")
    db.close()
    assert check_store(store) == [
        Difference("c1", "host", "h0", "only in the log"),
        Difference("c1", "host", "h1", "different", ("status",)),
        Difference("c2", "cluster", "c2", "only in the rows"),
    ]
    store.close()


def test_what_others_write_meanwhile_is_no_difference(reopen: Reopen) -> None:
    store, realm = reopen(), Realm("c1")
    store.commit([begin(realm)])

    class Busy(MemoryStore):
        """Somebody writes between the rows and the log."""

        def load(self, id: str | None = None) -> Any:
            before = store.load(id)
            store.commit([rename(realm, "b"), begin(Realm("c2"))])
            return before

        def log(self, id: str = "", after: int = 0) -> Any:
            return store.log(id, after)

    assert check_store(Busy()) == []


def test_a_log_that_begins_in_the_middle_is_refused() -> None:
    event = Event(at=NOW, kind="host", id="h1", values={"role": "worker"})
    with pytest.raises(StoreError, match="host h1 before it is there"):
        replay([Logged(7, "c1", 3, event)])


def test_nothing_is_the_same_as_nothing() -> None:
    assert compare({}, []) == []
    assert compare({"c1": Realm("c1", 4)}, [Realm("c1", 7)]) == []
