# SPDX-License-Identifier: Apache-2.0
"""Keeps what is in memory up to the store: after something was not written, and after others wrote.

Several replicas share a store without a leader. Each holds all realms, hears from the store which of them
another one changed, and folds in what happened. Who decides upon what is not the last any more conflicts, is
brought up to date here, and decides again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import Final, Protocol, TypeVar

from muster.service.background import Background
from muster.service.engine import Engine
from muster.service.realm import Event, Realm
from muster.service.state import kind_of
from muster.service.store.port import Change, Ears, Store, StoreError

T = TypeVar("T")
_SHARE_S: Final = 20.0
"""Much less than a host may be silent for."""
_PAUSE_S: Final = 1.0
"""How long a store that does not answer is left alone."""


class Committing(Protocol):
    """What is known of changes on their way to the store."""

    def is_stale(self, realm: str) -> bool: ...

    def renew(self, realm: str) -> None: ...

    def pending(self, realm: str) -> asyncio.Future[None] | None: ...


class Upkeep:
    """Brings realms up to what the store has; one at a time, and each only when it has to be."""

    def __init__(
        self,
        engine: Engine,
        store: Store,
        committer: Committing,
        clock: Callable[[], datetime],
        taken: Callable[[Change], None],
        background: Background,
    ) -> None:
        """``taken`` is told what was taken over from others."""
        self._engine, self._store, self._committer = engine, store, committer
        self._clock, self._taken, self._background = clock, taken, background
        self._busy: dict[str, asyncio.Lock] = {}
        self._queued: dict[str, int] = {}
        """How many are at a realm, or wait for their turn."""
        self._wanted: dict[str, int] = {}
        self._heard: set[str] = set()
        """Hosts that were heard here since the others were told."""
        self._following: asyncio.Task[None] | None = None
        self._sharing: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """From now on follow what others write, and tell them which hosts are there."""
        if not self._store.is_shared:
            return
        loop = asyncio.get_running_loop()
        ears = Ears(
            lambda news: _tell(loop, self._hear, news),
            lambda hosts: _tell(loop, self._hear_hosts, hosts),
        )
        await asyncio.to_thread(self._store.listen, ears)
        await self.catch_up_all()
        self._sharing = asyncio.ensure_future(self._share())

    def note(self, host_id: str) -> None:
        """A host was heard here."""
        self._engine.hear(host_id, self._clock())
        if self._store.is_shared:
            self._heard.add(host_id)

    async def share(self) -> None:
        """Tell the others whom they have not to take for silent."""
        heard, self._heard = self._heard, set()
        if heard:
            await asyncio.to_thread(self._store.share, sorted(heard))

    async def _share(self) -> None:
        while True:
            await asyncio.sleep(_SHARE_S)
            with suppress(StoreError):  # When it is back all count as heard.
                await self.share()

    def _hear_hosts(self, hosts: Sequence[str] | None) -> None:
        now = self._clock()
        for id in list(self._engine.heard) if hosts is None else hosts:
            self._engine.hear(id, now)

    def _hear(self, news: Mapping[str, int]) -> None:
        for id, version in news.items():
            self._wanted[id] = max(version, self._wanted.get(id, 0))
        if self._following is None or self._following.done():
            self._following = asyncio.ensure_future(self._follow())

    async def _follow(self) -> None:
        """Take over all that was heard of; what the store does not give now it gives later."""
        while self._wanted:
            wanted, self._wanted = self._wanted, {}
            for id, version in wanted.items():
                try:
                    await self.catch_up(id, version)
                except StoreError:
                    self._wanted.setdefault(id, version)
                    await asyncio.sleep(_PAUSE_S)

    async def catch_up_all(self) -> bool:
        """Take over whatever others have done by now; whether there was anything."""
        versions = await self._background.fetch(self._store.versions)
        known = {id: realm.version for id, realm in self._engine.realms.items()}
        behind = {id: version for id, version in versions.items() if version > known.get(id, 0)}
        for id, version in behind.items():
            await self.catch_up(id, version)
        return bool(behind)

    async def catch_up(self, id: str, version: int = 0) -> None:
        """Bring a realm at least to a version, and forget what could not be written of it."""
        async with self._turn(id):
            while self._is_behind(id, version) and not await self._step(id):
                pass

    def _is_behind(self, id: str, version: int) -> bool:
        realm = self._engine.realms.get(id)
        return self._committer.is_stale(id) or (0 if realm is None else realm.version) < version

    async def _step(self, id: str) -> bool:
        """Try once; whether it is done. What is decided meanwhile may be in the way."""
        committer, realm = self._committer, self._engine.realms.get(id)
        if committer.is_stale(id) or realm is None:
            await self._load(id)
            return True
        if (pending := committer.pending(id)) is not None:
            await asyncio.wait({pending})
            return False
        version = realm.version
        latest, news = await self._background.fetch(lambda: self._store.news(id, version))
        if committer.is_stale(id) or committer.pending(id) is not None or realm.version != version:
            return False
        if self._engine.realms.get(id) is realm:
            events = [each.event for each in news]
            self._engine.follow(realm, latest, events, self._clock())
            self._taken(_as_change(realm, events))
        return True

    async def _load(self, id: str) -> None:
        """All of it. What is decided meanwhile upon something that failed is never written."""
        found = await self._background.fetch(lambda: list(self._store.load(id)))
        realm = self._engine.realms.get(id)
        if realm is not None and not self._committer.is_stale(id):
            return  # Somebody made it meanwhile.
        if not found:
            self._engine.forget(id)
        self._engine.load(found, self._clock())
        self._committer.renew(id)
        for each in found:
            self._taken(_as_change(each, _all_of(each, self._clock())))

    @asynccontextmanager
    async def _turn(self, id: str) -> AsyncIterator[None]:
        """One after the other; who comes second mostly finds that all is done."""
        lock = self._busy.setdefault(id, asyncio.Lock())
        self._queued[id] = self._queued.get(id, 0) + 1
        try:
            async with lock:
                yield
        finally:
            self._queued[id] -= 1
            if not self._queued[id]:
                del self._queued[id], self._busy[id]

    async def close(self) -> None:
        """Follow nothing more."""
        tasks = [task for task in (self._following, self._sharing) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _all_of(realm: Realm, now: datetime) -> list[Event]:
    """Nobody knows what of it changed."""
    return [Event(at=now, kind=kind_of(each), id=each.id) for each in realm.subjects()]


def _as_change(realm: Realm, events: Iterable[Event]) -> Change:
    events = tuple(events)
    rows = {(each.kind, each.id): realm.find(each.kind, each.id) for each in events}
    return Change(realm.id, realm.version, events, rows, {})


def _tell(loop: asyncio.AbstractEventLoop, hear: Callable[[T], None], news: T) -> None:
    """From another thread, which may be late."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(hear, news)
