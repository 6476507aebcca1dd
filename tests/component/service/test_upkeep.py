# SPDX-License-Identifier: Apache-2.0
"""What is in memory becomes what the store has, whoever wrote it, and never something older."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager

from muster.service.background import LoopBackground
from muster.service.committer import Committer
from muster.service.engine import Engine
from muster.service.realm import Draft, Realm
from muster.service.store.memory import MemoryStore
from muster.service.store.port import Change, ConflictError, StoreError
from muster.service.upkeep import Upkeep
from tests.component.service.whole import come
from tests.realms import NOW, begin, rename


class SlowStore(MemoryStore):
    """A store whose answers take until a test lets them go."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.gate.set()
        self.loads = 0

    def load(self, realm: str | None = None) -> Iterable[Realm]:
        found = super().load(realm)
        self.loads += 1
        self.gate.wait()
        return found


class Kept:
    """A realm in memory, and all that keeps it up."""

    def __init__(self, store: MemoryStore) -> None:
        self.store, self.taken = store, list[Change]()
        self.engine = Engine(lambda _: None)
        self.committer = Committer(store)
        self.upkeep = Upkeep(
            self.engine, store, self.committer, lambda: NOW, self.taken.append, LoopBackground()
        )

    @property
    def name(self) -> str:
        return self.engine.cluster("c1").name

    def rename(self, name: str) -> Change:
        realm = self.engine.realms["c1"]
        change, _ = self.engine.change(realm, lambda draft: _rename(draft, name), NOW)
        assert change is not None
        return change


def _rename(draft: Draft, name: str) -> None:
    draft.change(draft.cluster, name=name)


@asynccontextmanager
async def kept(store: MemoryStore) -> AsyncIterator[Kept]:
    found = Kept(store)
    try:
        yield found
    finally:
        await found.upkeep.close()
        await found.committer.close()


async def test_what_others_wrote_is_folded_in_and_told() -> None:
    store, theirs = MemoryStore(), Realm("c1")
    store.commit([begin(theirs)])
    async with kept(store) as ours:
        assert await ours.upkeep.catch_up_all()
        assert ours.name == "ocp"
        realm = ours.engine.realms["c1"]
        store.commit([rename(theirs, "b"), rename(theirs, "c")])
        await ours.upkeep.catch_up("c1", 3)
        assert ours.name == "c"
        assert ours.engine.realms["c1"] is realm
        assert [sorted(each.rows) for each in ours.taken] == [[("cluster", "c1")]] * 2
        assert not await ours.upkeep.catch_up_all()


async def test_who_was_overtaken_sees_what_is_so_and_can_write_again() -> None:
    store, theirs = MemoryStore(), Realm("c1")
    store.commit([begin(theirs)])
    async with kept(store) as ours:
        await ours.upkeep.catch_up_all()
        store.commit([rename(theirs, "theirs")])
        late = [ours.committer.submit([ours.rename(f"ours {number}")]) for number in range(3)]
        outcomes = await asyncio.gather(*late, return_exceptions=True)
        assert [type(each) for each in outcomes] == [ConflictError] * 3
        await asyncio.gather(*(ours.upkeep.catch_up("c1") for _ in range(3)))
        assert ours.name == "theirs"
        await ours.committer.commit([ours.rename("ours")])
        assert (ours.name, store.versions()) == ("ours", {"c1": 3})


async def test_a_realm_is_loaded_by_one_at_a_time_and_never_over_what_was_written_since() -> None:
    """Several come for it; who waited finds it done, and leaves alone what was decided upon it."""
    store, theirs = SlowStore(), Realm("c1")
    store.commit([begin(theirs)])
    async with kept(store) as ours:
        store.gate.clear()
        tasks = [asyncio.ensure_future(ours.upkeep.catch_up("c1", 1)) for _ in range(2)]
        await come(lambda: store.loads > 0)
        store.gate.set()
        await tasks[0]
        store.gate.clear()
        third = asyncio.ensure_future(ours.upkeep.catch_up("c1", 1))
        await ours.committer.commit([ours.rename("ours")])
        store.gate.set()
        await asyncio.gather(tasks[1], third)
        assert (ours.name, store.loads) == ("ours", 1)


async def test_own_changes_on_their_way_are_waited_for() -> None:
    store, theirs = MemoryStore(), Realm("c1")
    store.commit([begin(theirs)])
    async with kept(store) as ours:
        await ours.upkeep.catch_up_all()
        on_its_way = ours.committer.submit([ours.rename("ours")])
        await ours.upkeep.catch_up("c1", 2)
        await on_its_way
        assert (ours.name, store.versions()) == ("ours", {"c1": 2})


class FullStore(MemoryStore):
    """A store on a disk that is full."""

    def commit(self, changes: Sequence[Change]) -> None:
        raise StoreError("the disk is full", hint="free some space")


async def test_a_realm_that_never_came_to_be_is_forgotten() -> None:
    async with kept(FullStore()) as ours:
        change = begin(ours.engine.create("c1"))
        (failed,) = await asyncio.gather(ours.committer.submit([change]), return_exceptions=True)
        assert isinstance(failed, StoreError)
        await ours.upkeep.catch_up("c1")
        assert ours.engine.realms == {}
