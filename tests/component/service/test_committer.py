# SPDX-License-Identifier: Apache-2.0
"""Group commit: everything once, in order, and nobody fails for his neighbour."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import pytest

from muster.service.committer import Committer
from muster.service.realm import Realm
from muster.service.store.memory import MemoryStore
from muster.service.store.port import Change, ConflictError, Store, StoreError, UnavailableError
from tests.realms import begin, decide, make_host, rename


class Disk(MemoryStore):
    """A store that is as slow as a test wants, fails as it wants, and remembers what it was given at once."""

    def __init__(self) -> None:
        super().__init__()
        self.busy, self.free = threading.Event(), threading.Event()
        self.free.set()
        self.batches: list[int] = []
        self.trouble: Callable[[Sequence[Change]], Exception | None] = lambda _: None

    def commit(self, changes: Sequence[Change]) -> None:
        self.batches.append(len(changes))
        self.busy.set()
        assert self.free.wait(60)
        if error := self.trouble(changes):
            raise error
        super().commit(changes)


@asynccontextmanager
async def opened(store: Store, failed: Callable[[str], None] = lambda _: None) -> AsyncIterator[Committer]:
    committer = Committer(store, failed)
    try:
        yield committer
    finally:
        await committer.close()


def names(store: Store, realm: str) -> list[str]:
    return [each.event.values["name"] for each in store.log(realm)]


async def outcomes(*waiting: Awaitable[None]) -> list[BaseException | None]:
    return await asyncio.gather(*waiting, return_exceptions=True)


async def held(disk: Disk, committer: Committer) -> asyncio.Future[None]:
    """The writer is in the middle of a commit, and all that comes waits."""
    disk.free.clear()
    disk.busy.clear()
    first = committer.submit([begin(Realm("first"))])
    assert await asyncio.to_thread(disk.busy.wait, 60)
    return first


async def test_what_waits_is_written_at_once() -> None:
    disk = Disk()
    async with opened(disk) as committer:
        first = await held(disk, committer)
        realms = [Realm(f"c{number}") for number in range(10)]
        more = [committer.submit([begin(realm)]) for realm in realms]
        more += [committer.submit([rename(realm, "b")]) for realm in realms]
        assert not any(each.done() for each in more)
        disk.free.set()
        assert await outcomes(first, *more) == [None] * 21
    assert disk.batches == [1, 20]
    assert names(disk, "c7") == ["ocp", "b"]


async def test_one_that_comes_too_late_does_not_fail_its_neighbours() -> None:
    disk = Disk()
    late, quick, other = Realm("c1"), Realm("c1"), Realm("c2")
    disk.commit([begin(late), begin(other)])
    begin(quick)
    disk.commit([rename(quick, "quick")])
    disk.batches.clear()
    failed: list[str] = []
    async with opened(disk, failed.append) as committer:
        first = await held(disk, committer)
        waiting = [
            committer.submit([rename(other, "a")]),
            committer.submit([rename(late, "slow")]),
            committer.submit([rename(other, "b")]),
            committer.submit([rename(late, "later")]),
        ]
        disk.free.set()
        await first
        done = await outcomes(*waiting)
    assert [type(each) for each in done] == [type(None), ConflictError, type(None), ConflictError]
    assert names(disk, "c2") == ["ocp", "a", "b"]
    assert names(disk, "c1") == ["ocp", "quick"]
    assert set(failed) == {"c1"}


async def test_what_builds_upon_a_failure_fails_even_if_its_version_fits() -> None:
    """Another replica made the version that failed here: what was decided upon ours does not follow its."""
    disk = Disk()
    realm, elsewhere = Realm("c1"), Realm("c1")
    disk.commit([begin(realm)])
    begin(elsewhere)
    async with opened(disk) as committer:
        disk.trouble = lambda _: StoreError("no space", hint="free some")
        with pytest.raises(StoreError, match="no space"):
            await committer.commit([rename(realm, "ours")])
        disk.trouble = lambda _: None
        disk.commit([rename(elsewhere, "theirs")])
        assert committer.is_stale("c1")
        with pytest.raises(StoreError, match="no space"):
            await committer.settled("c1")
        with pytest.raises(StoreError, match="no space"):
            await committer.commit([rename(realm, "upon ours")])
        assert names(disk, "c1") == ["ocp", "theirs"]
        (loaded,) = disk.load("c1")
        committer.renew("c1")
        assert not committer.is_stale("c1")
        await committer.commit([rename(loaded, "upon theirs")])
    assert names(disk, "c1") == ["ocp", "theirs", "upon theirs"]


async def test_what_was_given_before_a_realm_was_loaded_again_fails_after_it_too() -> None:
    disk = Disk()
    realm, elsewhere = Realm("c1"), Realm("c1")
    disk.commit([begin(realm)])
    begin(elsewhere)
    async with opened(disk) as committer:
        disk.trouble = lambda changes: StoreError("no space") if changes[0].version == 2 else None
        with pytest.raises(StoreError):
            await committer.commit([rename(realm, "ours")])
        disk.batches.clear()
        await_first = await held(disk, committer)
        old = committer.submit([rename(realm, "upon ours")])
        disk.trouble = lambda _: None
        disk.free.set()
        MemoryStore.commit(disk, [rename(elsewhere, "theirs")])
        (loaded,) = disk.load("c1")
        committer.renew("c1")
        new = committer.submit([rename(loaded, "upon theirs")])
        done = await outcomes(await_first, old, new)
    assert [type(each) for each in done] == [type(None), StoreError, type(None)]
    assert names(disk, "c1") == ["ocp", "theirs", "upon theirs"]


async def test_a_move_that_fails_takes_both_realms_with_it() -> None:
    disk = Disk()
    start, end = Realm("c1"), Realm("c2")
    disk.commit([begin(start, hosts=1), begin(end)])
    async with opened(disk) as committer:
        disk.trouble = lambda changes: StoreError("too large") if len(changes) > 1 else None
        host = start.hosts["h0"]
        moved = [
            decide(start, lambda draft: draft.remove(host)),
            decide(end, lambda draft: draft.add(host)),
        ]
        done = await outcomes(committer.submit(moved), committer.submit([rename(end, "b")]))
    assert [str(each) for each in done] == ["too large", "too large"]
    assert names(disk, "c2") == ["ocp"]


async def test_a_neighbour_that_was_written_before_a_doomed_one_is_told_so() -> None:
    """A set of two realms, one of which failed before, dooms what comes after it, not what came before."""
    disk = Disk()
    broken, good = Realm("c1"), Realm("c2")
    disk.commit([begin(broken), begin(good)])
    async with opened(disk) as committer:
        disk.trouble = lambda _: StoreError("no space")
        await outcomes(committer.submit([rename(broken, "a")]))
        disk.trouble = lambda _: None
        disk.batches.clear()
        first = await held(disk, committer)
        before = committer.submit([rename(good, "before")])
        both = committer.submit([rename(good, "both"), rename(broken, "both")])
        after = committer.submit([rename(good, "after")])
        disk.free.set()
        await first
        done = await outcomes(before, both, after)
    assert [type(each) for each in done] == [type(None), StoreError, StoreError]
    assert names(disk, "c2") == ["ocp", "before"]


async def test_a_store_that_is_away_is_asked_once_for_all_who_wait() -> None:
    disk = Disk()
    async with opened(disk) as committer:
        first = await held(disk, committer)
        waiting = [committer.submit([begin(Realm(f"c{number}"))]) for number in range(50)]
        disk.trouble = lambda _: UnavailableError("gone", hint="wait")
        disk.free.set()
        done = await outcomes(first, *waiting)
        assert [str(each) for each in done] == ["gone"] * 51
        assert len({id(each) for each in done}) == 51
        assert disk.batches == [1, 50]
        disk.trouble = lambda _: None
        committer.renew("c1")
        await committer.commit([begin(Realm("c1"))])
    assert [realm.id for realm in disk.load()] == ["c1"]


async def test_a_bug_ends_nothing_but_its_own_change() -> None:
    disk = Disk()
    async with opened(disk) as committer:
        disk.trouble = lambda changes: ZeroDivisionError() if changes[0].realm == "c1" else None
        done = await outcomes(committer.submit([begin(Realm("c1"))]), committer.submit([begin(Realm("c2"))]))
    assert [type(each) for each in done] == [ZeroDivisionError, type(None)]


async def test_reads_wait_for_what_they_would_show() -> None:
    disk = Disk()
    async with opened(disk) as committer:
        assert committer.pending("c1") is None
        await committer.settled("c1")
        first = await held(disk, committer)
        realm = Realm("c1")
        before = committer.submit([begin(realm)])
        last = committer.submit([rename(realm, "b")])
        assert committer.pending("c1") is last
        assert committer.pending("c2") is None
        reading = asyncio.ensure_future(committer.settled("c1"))
        await asyncio.sleep(0)
        assert not reading.done()
        disk.free.set()
        await reading
        assert first.done()
        assert before.done()
        assert last.done()
        assert committer.pending("c1") is None


async def test_what_waits_behind_others_still_waits_when_they_are_done() -> None:
    disk, gate, realm = Disk(), threading.Event(), Realm("c1")

    def hold(changes: Sequence[Change]) -> None:
        assert changes[0].version == 1 or gate.wait(60)

    disk.trouble = hold
    async with opened(disk) as committer:
        disk.free.clear()
        first = committer.submit([begin(realm)])
        assert await asyncio.to_thread(disk.busy.wait, 60)
        last = committer.submit([rename(realm, "b")])
        disk.free.set()
        await first
        assert committer.pending("c1") is last
        gate.set()
        await committer.settled("c1")
        assert last.done()
    assert names(disk, "c1") == ["ocp", "b"]


async def test_who_goes_away_does_not_stop_what_was_decided() -> None:
    disk = Disk()
    async with opened(disk) as committer:
        first = await held(disk, committer)
        realm = Realm("c1")
        waiting = asyncio.ensure_future(committer.commit([begin(realm)]))
        reading = asyncio.ensure_future(committer.settled("c1"))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.sleep(0)
        disk.free.set()
        await reading
        assert first.done()
    assert names(disk, "c1") == ["ocp"]


async def test_it_ends_when_all_is_written() -> None:
    disk = Disk()
    committer = Committer(disk)
    first = await held(disk, committer)
    more = [committer.submit([begin(Realm(f"c{number}"))]) for number in range(5)]
    closing = asyncio.ensure_future(committer.close())
    await asyncio.sleep(0)
    with pytest.raises(UnavailableError):
        await committer.commit([begin(Realm("c9"))])
    disk.free.set()
    await closing
    assert await outcomes(first, *more) == [None] * 6
    await committer.close()


async def test_nothing_to_write_is_no_wait() -> None:
    disk = Disk()
    async with opened(disk) as committer:
        await committer.commit([])
    assert disk.batches == []


async def test_large_files_do_not_wait_for_each_other_in_one_transaction() -> None:
    disk = Disk()
    async with opened(disk) as committer:
        first = await held(disk, committer)
        realm = Realm("c1")
        body = bytes(4 << 20)
        waiting = [
            committer.submit([decide(realm, lambda draft, n=n: draft.documents.update({("c1", n): body}))])  # type: ignore[misc]
            for n in map(str, range(6))
        ]
        disk.free.set()
        await outcomes(first, *waiting)
    assert disk.batches == [1, 4, 2]


@pytest.mark.parametrize("writers", [1, 7])
async def test_order_is_kept_in_every_realm(store: Store, writers: int) -> None:
    """Many tasks decide about few realms, and wait; a fold of the log is what they saw."""
    realms = [Realm(f"c{number}") for number in range(3)]
    async with opened(store) as committer:
        await committer.commit([begin(realm) for realm in realms])

        async def write(who: int) -> None:
            for number in range(20):
                realm = realms[(who + number) % len(realms)]
                await committer.commit(
                    [decide(realm, lambda draft, n=number: draft.add(make_host(f"{who}-{n}")))]  # type: ignore[misc]
                )

        async with asyncio.TaskGroup() as tasks:
            for who in range(writers):
                tasks.create_task(write(who))
    assert sorted(store.load(), key=lambda each: each.id) == realms
    assert sum(len(realm.hosts) for realm in realms) == writers * 20
