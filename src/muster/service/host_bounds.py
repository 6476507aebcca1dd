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
from muster.service.edge.connections import Room
from muster.service.edge.rate import Allowance, Rate
from muster.service.refusals import Unavailable
from muster.service.store.port import Change, encode

UPLOADS: Final = 6
"""Logs that hosts of one infra-env upload at the same time: fewer than all hosts together may."""
_UPLOAD_PATIENCE_S: Final = 50.0
_MIB: Final = 1 << 20


class HostBounds:
    """What all hosts of a service use up. A service that was started again begins anew."""

    def __init__(self) -> None:
        self.host_writes = Allowance(Rate(burst=64 * _MIB, per_second=16 << 10))
        """Bytes that each host causes to be written: events, files, and its own row again and again."""
        self.realm_writes = Allowance(Rate(burst=2048 * _MIB, per_second=128 << 10))
        """Bytes of events and files, which stay, that all hosts of a realm cause together."""
        self.registrations = Allowance(Rate(burst=1000, per_second=1))
        """New hosts of each infra-env."""
        self._uploads: dict[str, Budget] = {}
        """Of each infra-env whose hosts upload logs. Each has a queue of its own."""
        self._questions: dict[str, object] = {}
        """The newest question of each host that is being answered."""

    def charge(self, host: str, change: Change, now: float) -> None:
        """A host caused a change: all that stays of it counts, and the row of the host."""
        row = change.rows.get(("host", host))
        stays = sum(len(encode(each)) for each in change.events)
        stays += sum(len(body or b"") for body in change.documents.values())
        self.realm_writes.charge(change.realm, stays, now)
        self.host_writes.charge(host, stays + (len(encode(row)) if row is not None else 0), now)

    def seconds_to_write(self, host: str, realm: str, now: float) -> int:
        """How long until a host may cause more to be written; of its realm too, if that is named."""
        in_realm = self.realm_writes.wait(realm, now) if realm else 0.0
        return math.ceil(max(self.host_writes.wait(host, now), in_realm))

    @asynccontextmanager
    async def upload(self, infra_env_id: str) -> AsyncIterator[None]:
        """A place among the uploads of an infra-env's hosts; Unavailable when none gets free."""
        budget = self._uploads.setdefault(infra_env_id, Budget(Room(each=UPLOADS, all=UPLOADS)))
        try:
            async with asyncio.timeout(_UPLOAD_PATIENCE_S):
                await budget.take(infra_env_id, 1)
        except (TimeoutError, NoRoom):
            raise Unavailable("other hosts of this infra-env upload logs", hint="retry later") from None
        try:
            yield
        finally:
            budget.give_back(infra_env_id, 1)
            if not budget.total:
                self._uploads.pop(infra_env_id, None)

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
