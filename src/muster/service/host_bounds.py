# SPDX-License-Identifier: Apache-2.0
"""Bounds of what hosts cost the service: bytes that are written, registrations, uploads, waiting questions.

bounds.charge(host_id, change, now)             # after a decision that a host caused
bounds.seconds_to_write(host_id, realm, now)    # before the next one: 0, or how long it is refused
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

from muster.service.edge.budget import Budget, NoRoom
from muster.service.edge.rate import Allowance, Rate
from muster.service.free_space import FreeSpace
from muster.service.refusals import Unavailable
from muster.service.store.port import Change, encode
from muster.serving.connections import Room, cached_network_of

ALL_UPLOADS: Final = 8
"""Logs that hosts upload at the same time."""
UPLOADS: Final = 6
"""The same of the hosts of one infra-env."""
_UPLOAD_PATIENCE_S: Final = 50.0
_FREE_S: Final = 60.0
"""How long an upload may take at any speed, even if other hosts wait."""
_SPEED: Final = 256 << 10
"""Bytes per second on average of a longer one, or it makes room for a host that waits."""
_LOOK_S: Final = 1.0
_MIB: Final = 1 << 20
_RESERVED: Final = 0.5
"""The share that is left to those who took little: of registrations, and of what is written in a realm."""


class Upload:
    """One upload of logs under way."""

    def __init__(self, infra_env_id: str, began: float) -> None:
        self.infra_env_id, self._began = infra_env_id, began
        self._bytes = 0
        self.timer = asyncio.timeout(None)

    async def count(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The same chunks, counted."""
        async for chunk in chunks:
            self._bytes += len(chunk)
            yield chunk

    def lag(self, now: float) -> float:
        """How many seconds it is behind the speed at which it would keep its place."""
        return now - self._began - _FREE_S - self._bytes / _SPEED


class HostBounds:
    """What all hosts of a service use up. A service that was started again begins anew."""

    def __init__(self, free_space: FreeSpace | None = None) -> None:
        self.free_space = free_space
        """Of the file system with the database, if it is one of this machine."""
        self.host_writes = Allowance(Rate(burst=64 * _MIB, per_second=16 << 10))
        """Bytes that each host causes to be written: events, files, and its own row again and again."""
        self.realm_writes = Allowance(Rate(burst=2048 * _MIB, per_second=128 << 10))
        """Bytes of events and files, which stay, that all hosts of a realm cause together."""
        self.modest_writes = Allowance(Rate(burst=8 * _MIB, per_second=512))
        """The same of each host. With more of them, it leaves half of what there is to the others."""
        self.registrations = Allowance(Rate(burst=1000, per_second=1))
        """New hosts of each infra-env."""
        self.registrations_each = Allowance(Rate(burst=100, per_second=0.1))
        """The same from one network; more of them leave half of what there is to others."""
        self._uploads: dict[str, Budget] = {}
        """Of each infra-env whose hosts upload logs. Its hosts take turns."""
        self._all_uploads = Budget(Room(each=UPLOADS, all=ALL_UPLOADS))
        """Of all infra-envs, which take turns."""
        self._running: set[Upload] = set()
        self._questions: dict[str, object] = {}
        """The newest question of each host that is being answered."""

    def charge(self, host: str, change: Change, now: float) -> None:
        """A host caused a change: all that stays of it counts, and the row of the host."""
        row = change.rows.get(("host", host))
        stays = sum(len(encode(each)) for each in change.events)
        stays += sum(len(body or b"") for body in change.documents.values())
        self.realm_writes.charge(change.realm, stays, now)
        self.modest_writes.charge(host, stays, now)
        self.host_writes.charge(host, stays + (len(encode(row)) if row is not None else 0), now)

    def seconds_to_write(self, host: str, realm: str, now: float) -> int:
        """How long until a host may cause more to be written; of its realm too, if that is named."""
        return math.ceil(max(self.host_writes.wait(host, now), self._wait_in_realm(host, realm, now)))

    def _wait_in_realm(self, host: str, realm: str, now: float) -> float:
        if not realm:
            return 0.0
        if self.realm_writes.share(realm, now) > _RESERVED:
            return 0.0
        until_others = self.realm_writes.wait(realm, now, _RESERVED)
        modest = self.modest_writes.wait(host, now)
        return min(until_others, max(self.realm_writes.wait(realm, now), modest))

    @property
    def uploads(self) -> int:
        """How many there are under way."""
        return len(self._running)

    def has_space(self, floor: float = 1.0) -> bool:
        """Whether there is disk space for what hosts report: the floor, or a part of it, is for others."""
        return self.free_space is None or not self.free_space.is_below(floor)

    def may_register(self, infra_env_id: str, address: str, now: float) -> bool:
        """Whether a new host may register, which counts. One address cannot use up what all have together."""
        own = f"{infra_env_id}/{cached_network_of(address)}"
        is_within_own = self.registrations_each.take(own, 1, now).granted
        if not is_within_own and self.registrations.share(infra_env_id, now) <= _RESERVED:
            return False
        return self.registrations.take(infra_env_id, 1, now).granted > 0

    @asynccontextmanager
    async def upload(self, infra_env_id: str, host: str) -> AsyncIterator[Upload]:
        """A place among the uploads of all hosts; Unavailable when none gets free, or this one is too slow.

        A host has two places, for its own logs and for those of the cluster's controller.
        """
        own = self._uploads.setdefault(infra_env_id, Budget(Room(each=2, all=UPLOADS)))
        try:
            async with self._place(own, host, infra_env_id), self._place(self._all_uploads, infra_env_id, ""):
                upload = Upload(infra_env_id, asyncio.get_running_loop().time())
                self._running.add(upload)
                try:
                    async with upload.timer:
                        yield upload
                except TimeoutError:
                    if not upload.timer.expired():
                        raise
                    raise Unavailable(
                        "other hosts wait to upload their logs, and this upload was slow", hint="retry later"
                    ) from None
                finally:
                    self._running.discard(upload)
        finally:
            if not own.total and not own.waiting and self._uploads.get(infra_env_id) is own:
                del self._uploads[infra_env_id]

    @asynccontextmanager
    async def _place(self, budget: Budget, holder: str, infra_env_id: str) -> AsyncIterator[None]:
        """A place, for which the slowest upload of an infra-env, or of all, makes room."""
        looking = asyncio.ensure_future(self._make_room(budget, infra_env_id))
        try:
            async with asyncio.timeout(_UPLOAD_PATIENCE_S):
                await budget.take(holder, 1)
        except (TimeoutError, NoRoom):
            raise Unavailable("other hosts upload logs", hint="retry later") from None
        finally:
            looking.cancel()
        try:
            yield
        finally:
            budget.give_back(holder, 1)

    async def _make_room(self, budget: Budget, infra_env_id: str) -> None:
        """End the slowest upload again and again while all places are taken, as far as it is too slow."""
        while True:
            await asyncio.sleep(_LOOK_S)
            now = asyncio.get_running_loop().time()
            rivals = [each for each in self._running if infra_env_id in ("", each.infra_env_id)]
            slowest = max(rivals, key=lambda each: each.lag(now), default=None)
            if budget.is_full and slowest is not None and slowest.lag(now) > 0:
                self._running.discard(slowest)
                slowest.timer.reschedule(now)

    @contextmanager
    def newest(self, host: str, call: Callable[[str], object]) -> Iterator[Callable[[], bool]]:
        """One question of a host, which may wait: tells whether the host asked nothing later.

        What it asked before and still waits for is called, so that no more than one question of it waits:
        nobody knows of a host that went away.
        """
        question = self._questions[host] = object()
        call(host)
        try:
            yield lambda: self._questions.get(host) is question
        finally:
            if self._questions.get(host) is question:
                del self._questions[host]
