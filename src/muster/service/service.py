# SPDX-License-Identifier: Apache-2.0
"""The engine and what takes time around it: a store, a clock, and those who wait for news.

Everything that is answered is durable: a change is committed before its answer goes out, and what is read is
answered after whatever it shows has been committed.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final, TypeVar

from muster.model.wire.reports import StepReply
from muster.service.background import Handle
from muster.service.clock import WatchedClock
from muster.service.edge.rate import Allowance, Rate
from muster.service.engine import Engine
from muster.service.host_bounds import HostBounds
from muster.service.log_archives import LogArchives, StoredArchives
from muster.service.logs import Tail, Turns
from muster.service.news import Newsroom
from muster.service.preparing import Preparer
from muster.service.readiness import Readiness
from muster.service.realm import NO_CAUSE, Cause, Draft, Realm
from muster.service.refusals import NotFound, Outdated, Unavailable
from muster.service.state import Kind
from muster.service.states.clock import extend_waits, move_times
from muster.service.steps.sent import Sent, note_reply
from muster.service.store.port import Change, ConflictError, Store, StoreError
from muster.service.surroundings import Committer, Surroundings
from muster.service.upkeep import Upkeep
from muster.service.validations.disabled import is_judged_otherwise, judge_again

T = TypeVar("T")
_TRIES: Final = 8
_GATHER_S: Final = 0.05
"""Hosts that are called because of a new peer are called together."""
_LONGEST_S: Final = 10.0
"""Somebody may set the clock at any time, which nobody is told."""
_LATER: Final = timedelta(seconds=5)
"""When what is due is tried again that could not be written."""


class Service:
    """What the interface asks, and what timers wake."""

    def __init__(
        self,
        engine: Engine,
        store: Store,
        committer: Committer,
        around: Surroundings,
        news: Newsroom | None = None,
    ) -> None:
        self.engine, self.store, self.around = engine, store, around
        self.news, self.bounds = news or Newsroom(), HostBounds(around.free_space)
        self.preparer = Preparer(self)
        self.started_at = around.clock()
        self.sent: dict[str, Sent] = {}
        """What each host was told to do. Not worth a write: after a start it is told again."""
        self.images: dict[tuple[str, str], tuple[str, ...]] = {}
        """What hosts need of each release that was asked for."""
        self.tails: dict[str, Tail] = {}
        """What hosts told of their journals, by host id."""
        self.host_events = Allowance(Rate(burst=200, per_second=1 / 300))
        """Of each host, so an event that a host sends cannot push the others out of sight."""
        self.realm_events = Allowance(Rate(burst=2000, per_second=1 / 60))
        """Of all hosts of a cluster together."""
        self.log_lines = Allowance(Rate(burst=2000, per_second=100))
        """Of the journal of each host."""
        self.logs: LogArchives = around.logs or StoredArchives(store, self._put_documents, self.new_id)
        self.log_views = Turns("logs")
        """Who reads archives of logs: one at a time."""
        self.requests: Counter[tuple[str, int]] = Counter()
        """How often each operation was answered with each status."""
        self.on_stranger: Callable[[str, str], Awaitable[None]] | None = None
        """Told of hosts that report how far they are, and that nobody knows: the id and the name."""
        self._committer = committer
        self.upkeep = Upkeep(engine, store, committer, self.now, self._taken_over, around.background)
        self._clock = WatchedClock(around.clock, around.steady)
        self.readiness = Readiness(store, around.steady or time.monotonic)
        self._writing: set[asyncio.Task[None]] = set()
        self._timers_changed = asyncio.Event()
        self._to_call: set[str] = set()
        self._calling: Handle | None = None

    # Looking

    def now(self) -> datetime:
        """The time, as far as the service is concerned; when the clock was set, all deadlines go along."""
        now, jump = self._clock.look()
        if jump is not None:
            self.engine.shift(jump)
            self._write_all(lambda draft: move_times(draft, jump), now)
        return now

    def was_away(self, away: timedelta) -> None:
        """Nobody could tell the service anything for so long, so that time counts for no deadline."""
        if away < timedelta():  # It is earlier than when it ended: the clock was put back.
            self._write_all(lambda draft: move_times(draft, away), self.now())
        else:
            self._write_all(lambda draft: extend_waits(draft, away), self.now())

    async def write_all(self, decide: Callable[[Draft], None]) -> None:
        """Decide about every realm, on behalf of the service itself, and wait until that is written."""
        self._write_all(decide, self.now())
        await asyncio.gather(*self._writing)

    def judge_again(self, disabled: frozenset[str]) -> None:
        """What was judged while other validations were switched off is judged anew."""
        self._write_all(judge_again, self.now(), lambda realm: is_judged_otherwise(realm, disabled))

    def _write_all(
        self,
        decide: Callable[[Draft], None],
        now: datetime,
        concerns: Callable[[Realm], bool] = lambda _: True,
    ) -> None:
        """Decide about every realm at once; what is decided next is decided upon it, and written after it."""
        for realm in filter(concerns, list(self.engine.realms.values())):
            change, _ = self.engine.change(realm, decide, now)
            if change is not None:
                task = asyncio.ensure_future(self._written(self._committer.submit([change]), change))
                self._writing.add(task)
                task.add_done_callback(self._writing.discard)

    async def _written(self, written: asyncio.Future[None], change: Change) -> None:
        try:
            await written
        except StoreError as error:  # It is forgotten with the next look at the realm.
            self._note_failure(error)
        else:
            self.readiness.note()
            self.published([change])

    def note_answered(self, host: str, answer: StepReply) -> None:
        """A host is done with a step."""
        sent = self.sent.get(host)
        if sent is not None:
            self.sent[host] = note_reply(sent, answer, self.now())

    def new_id(self) -> str:
        """A name that nothing has yet."""
        return str(uuid.UUID(bytes=self.around.chance(16), version=4))

    async def settle(self, *realms: str) -> None:
        """Wait until all that realms show now is durable; Outdated: it never will be, so look again."""
        try:
            await self._committer.settled(*realms)
        except StoreError as error:
            await self._catch_up(realms)
            raise Outdated("what was to be shown was not written", hint="ask again") from error

    async def look_again(self) -> bool:
        """Before somebody is told that something is not there: whether others have made anything new."""
        if not self.store.is_shared:
            return False
        try:
            return await self.upkeep.catch_up_all()
        except StoreError as error:
            raise Unavailable(error.message, hint=error.hint) from error

    # Changing

    async def change(
        self, find: Callable[[], Realm], decide: Callable[[Draft], T], request_id: str = "", *, host: str = ""
    ) -> T:
        """Decide about a realm and return when it is durable.

        When somebody else changed the realm meanwhile, it is looked up and decided about again. What is
        written counts against the allowance of the host that caused it, if it is named.
        """
        for _ in range(_TRIES):
            realm = find()
            change, answer = self.engine.change(realm, decide, self.now(), self._cause(request_id))
            if host and change is not None:
                self.bounds.charge(host, change, self.now().timestamp())
            if await self._commit([change] if change is not None else [], realm.id):
                return answer
        raise Unavailable("too many others change the same cluster", hint="ask again")

    async def _put_documents(self, realm: str, documents: dict[tuple[str, str], bytes | None]) -> None:
        """Write files of a cluster, without an event."""
        await self.change(
            lambda: self.engine.realm_of("cluster", realm), lambda draft: draft.documents.update(documents)
        )

    async def move(
        self, find: Callable[[], Sequence[Realm]], decide: Callable[..., T], request_id: str = ""
    ) -> T:
        """Decide about several realms at once."""
        for _ in range(_TRIES):
            realms = find()
            changes, answer = self.engine.move(realms, decide, self.now(), self._cause(request_id))
            if await self._commit(changes, *(realm.id for realm in realms)):
                return answer
        raise Unavailable("too many others change the same clusters", hint="ask again")

    def _cause(self, request_id: str) -> Cause:
        """Which request a change comes from, and who sent it; timers and background work have none."""
        return Cause(request_id, self.around.actor()) if request_id else NO_CAUSE

    async def _commit(self, changes: list[Change], *realms: str) -> bool:
        """Whether all is durable now; if somebody was quicker, these realms are as the store has them."""
        try:
            await self._committer.settled(*(() if changes else realms))
            await self._committer.commit(changes)
        except ConflictError:
            await self._catch_up(realms)
            return False
        except StoreError as error:
            self._note_failure(error)
            with suppress(Unavailable):
                await self._catch_up(realms)
            raise Unavailable(error.message, hint=error.hint) from error
        if changes:
            self.readiness.note()
        self.published(changes)
        return True

    def _note_failure(self, error: StoreError) -> None:
        if not isinstance(error, ConflictError):
            self.readiness.note(error)

    async def _catch_up(self, realms: Iterable[str]) -> None:
        """Forget what could not be written: these realms become what the store has."""
        try:
            for id in realms:
                await self.upkeep.catch_up(id)
        except StoreError as error:
            raise Unavailable(error.message, hint=error.hint) from error

    def published(self, changes: Sequence[Change], *, elsewhere: bool = False) -> None:
        """Tell those who wait that something changed, here or elsewhere."""
        self.news.publish(changes)
        self._timers_changed.set()
        for change in changes:
            self._to_call.update(self._concerned(change))
            if ("cluster", change.realm) in change.rows:
                self.preparer.look(change.realm, elsewhere=elsewhere)
        if self._to_call and self._calling is None:
            self._calling = self.around.background.later(_GATHER_S, self._call)

    def _concerned(self, change: Change) -> set[str]:
        """The hosts that may have something new to do: all of a realm when a host is new in it.

        Those that were deleted are called too: they hear that they are not known any more.
        """
        hosts = {event.id for event in change.events if event.kind == "host" and (event.values or event.gone)}
        for event in change.events:
            if event.kind == "cluster" or "networks" in event.values or event.born:
                realm = self.engine.realms.get(change.realm)
                return hosts | realm.hosts.keys() if realm is not None else hosts
        return hosts

    def _call(self) -> None:
        self._calling = None
        hosts, self._to_call = self._to_call, set()
        self.news.call(hosts)

    def _taken_over(self, change: Change) -> None:
        """Somebody else changed something."""
        self.published([change], elsewhere=True)

    # Time

    async def run(self) -> None:
        """Do what is due, when it is due, until cancelled."""
        while True:
            self._timers_changed.clear()
            next_due = self.engine.next_due()
            seconds = _LONGEST_S if next_due is None else (next_due - self.now()).total_seconds()
            try:
                async with asyncio.timeout(max(0.0, min(_LONGEST_S, seconds))):
                    await self._timers_changed.wait()
            except TimeoutError:
                await self.pass_time()

    async def pass_time(self) -> None:
        """Decide about everything that is due."""
        now = self.now()
        for realm, kind, id in self.engine.due(now):
            silent = kind == "host" and self.engine.is_silent(realm.hosts[id], now)
            try:
                await self._pass_time(kind, id, silent=silent)
            except NotFound:
                continue
            except Unavailable:  # The store is away; others who are due would hear the same.
                self.engine.wait(kind, id, now + _LATER)

    async def _pass_time(self, kind: Kind, id: str, *, silent: bool) -> None:
        await self.change(
            lambda: self.engine.realm_of(kind, id),
            lambda draft: self.around.time_passed(draft, kind, id, silent),
        )

    def close(self) -> None:
        """Call nobody any more."""
        if self._calling is not None:
            self._calling.cancel()
