# SPDX-License-Identifier: Apache-2.0
"""What stands around the service in a model: nothing waits, so no loop has to run its coroutines.

A commit is done when it returns, and what the service puts off becomes an appointment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator, Iterable, Sequence
from typing import Any, TypeVar

from muster.lab.sim.clock import Appointment, Scheduler
from muster.service.news import Newsroom
from muster.service.store.port import Change, ConflictError, Store, StoreError, UnavailableError

T = TypeVar("T")


def finish(work: Coroutine[Any, Any, T]) -> T:
    """What comes of something that never has to wait."""
    try:
        work.send(None)
    except StopIteration as done:
        found: T = done.value
        return found
    work.close()
    raise AssertionError("the service waits for something that a model does not have")


class InlineCommitter:
    """Commits at once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._stale: set[str] = set()

    async def commit(self, changes: Sequence[Change]) -> None:
        realms = {change.realm for change in changes}
        if stale := realms & self._stale:
            raise ConflictError(min(stale))
        try:
            self._store.commit(changes)
        except StoreError:
            self._stale |= realms
            raise

    def submit(self, _changes: Sequence[Change]) -> asyncio.Future[None]:
        raise AssertionError("nobody sets the clock of a model, so nothing is written behind its back")

    async def settled(self, *realms: str) -> None:
        if self._stale.intersection(realms):
            raise UnavailableError("what was decided last was not written", hint="ask again")

    def pending(self, _realm: str) -> None:
        """Nothing ever is."""

    def is_stale(self, realm: str) -> bool:
        return realm in self._stale

    def renew(self, realm: str) -> None:
        self._stale.discard(realm)


class _Pause:
    """What is started waits here until its work is done."""

    def __await__(self) -> Generator[None, None, None]:
        yield


class ClockBackground:
    """What the service puts off happens on the clock of the model."""

    def __init__(self, scheduler: Scheduler, work_s: float, done: Callable[[], None]) -> None:
        self._scheduler, self._work_s, self._done = scheduler, work_s, done
        self._open: list[tuple[Appointment, Coroutine[Any, Any, None] | None]] = []
        self._is_started = False
        """Whether what runs now was started, and may take its time."""

    def later(self, seconds: float, call: Callable[[], None]) -> Appointment:
        return self._enter(seconds, call)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        self._enter(0.0, lambda: self._go_on(work), work)

    def _go_on(self, work: Coroutine[Any, Any, None]) -> None:
        self._is_started = True
        try:
            work.send(None)
        except StopIteration:
            return
        finally:
            self._is_started = False
        self._enter(self._work_s, lambda: self._go_on(work), work)

    def _enter(
        self, seconds: float, call: Callable[[], None], work: Coroutine[Any, Any, None] | None = None
    ) -> Appointment:
        def act(_: float) -> None:
            call()
            self._done()

        appointment = self._scheduler.after(seconds, act)
        self._open = [each for each in self._open if each[0].is_open]
        self._open.append((appointment, work))
        return appointment

    async def compute(self, function: Callable[[], T]) -> T:
        found = function()
        if self._is_started:
            await _Pause()
        return found

    async def compute_answer(self, function: Callable[[], T]) -> T:
        return await self.compute(function)

    async def fetch(self, function: Callable[[], T]) -> T:
        return function()

    async def end(self) -> None:
        """The process is gone, and with it what it had put off."""
        for appointment, work in self._open:
            if appointment.is_open and work is not None:
                work.close()
            appointment.cancel()


class Bell(Newsroom):
    """Wakes hosts that would wait for their answer."""

    def __init__(self, wake: Callable[[str], None]) -> None:
        super().__init__()
        self._wake = wake

    def call(self, hosts: Iterable[str]) -> None:
        for host in sorted(hosts):
            self._wake(host)
