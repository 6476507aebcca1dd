# SPDX-License-Identifier: Apache-2.0
"""Group commit: whoever has something to write waits for the disk together with all who came meanwhile.

    change, answer = engine.change(realm, decide, now)
    await committer.commit([change])        # durable now, or an error: then the realm is loaded again

One thread writes. What one turn of the loop brings is handed to it together: whoever came at the same moment
is not written alone. It takes all that waits, in order, and writes it in one transaction; if that fails, each
set of changes is tried alone, so that only those fail that have to. What was decided upon a change that
failed fails, too, whatever its version is: another replica may have made that version meanwhile. A realm is
written again after `renew`, which says that it was loaded from the store since.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Final

from muster.service.store.port import Change, ConflictError, Store, StoreError, UnavailableError

_MOST_SETS: Final = 1000
_MOST_BYTES: Final = 16 << 20
"""Of files in one transaction: nobody waits for the uploads of all others."""


class _Waiting:
    """A set of changes that is written as a whole, and who waits for it."""

    __slots__ = ("changes", "epochs", "future", "size_bytes")

    def __init__(
        self, changes: Sequence[Change], epochs: dict[str, int], future: asyncio.Future[None]
    ) -> None:
        self.changes, self.epochs, self.future = changes, epochs, future
        self.size_bytes = sum(len(body or b"") for each in changes for body in each.documents.values())


class Committer:
    """Writes for one event loop, in which all of it is called."""

    def __init__(self, store: Store, failed: Callable[[str], None] = lambda _: None) -> None:
        """``failed`` is told each realm of which something was not written, before those who wait for it."""
        self._store, self._tell = store, failed
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[_Waiting | None] = SimpleQueue()
        self._gathered: list[_Waiting] = []
        """What came in this turn of the loop."""
        self._last: dict[str, asyncio.Future[None]] = {}
        self._epochs: dict[str, int] = {}
        """How often each realm was loaded again."""
        self._failed: dict[str, tuple[int, Exception]] = {}
        """In which of these epochs something of it failed last, and why."""
        self._is_open = True
        self._thread = threading.Thread(target=self._run, name="muster-committer", daemon=True)
        self._thread.start()

    def submit(self, changes: Sequence[Change]) -> asyncio.Future[None]:
        """Have changes written, after all that were given before; do not cancel what is returned."""
        future = self._loop.create_future()
        if not self._is_open:
            raise UnavailableError("the service is being stopped", hint="ask again when it is back")
        epochs = {each.realm: self._epochs.get(each.realm, 0) for each in changes}
        for realm in epochs:
            self._last[realm] = future
        if not self._gathered:
            self._loop.call_soon(self._hand_over)
        self._gathered.append(_Waiting(changes, epochs, future))
        return future

    def _hand_over(self) -> None:
        gathered, self._gathered = self._gathered, []
        for each in gathered:
            self._queue.put(each)

    async def commit(self, changes: Sequence[Change]) -> None:
        """Have changes written, all or none, and wait until they are durable.

        Who stops to wait does not stop them.
        """
        if changes:
            await asyncio.shield(self.submit(changes))

    def pending(self, realm: str) -> asyncio.Future[None] | None:
        """What is to be written of a realm last, if anything is."""
        return self._last.get(realm)

    async def settled(self, *realms: str) -> None:
        """Wait until what is in memory of realms now is durable; an error: it never will be."""
        last = {realm: self._last[realm] for realm in realms if realm in self._last}
        for realm in realms:
            if realm not in last and self.is_stale(realm):
                raise _copy(self._failed[realm][1])
        for each in last.values():
            await asyncio.shield(each)

    def is_stale(self, realm: str) -> bool:
        """Whether something of a realm failed, and it was not loaded again since."""
        return realm in self._failed and self._failed[realm][0] >= self._epochs.get(realm, 0)

    def renew(self, realm: str) -> None:
        """A realm was loaded from the store: what is decided from now on can be written again."""
        self._epochs[realm] = self._epochs.get(realm, 0) + 1

    async def close(self) -> None:
        """Take nothing more, and wait until all is written."""
        if self._is_open:
            self._is_open = False
            self._hand_over()
            self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    # In the thread

    def _run(self) -> None:
        goes_on = True
        while goes_on:
            batch, goes_on = self._take()
            outcomes = self._write(batch)
            if outcomes and not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self._resolve, outcomes)

    def _take(self) -> tuple[list[_Waiting], bool]:
        """All that waits, up to a limit, once there is something; whether more can come."""
        batch: list[_Waiting] = []
        size_bytes = 0
        each = self._queue.get()
        while each is not None:
            batch.append(each)
            size_bytes += each.size_bytes
            if len(batch) >= _MOST_SETS or size_bytes >= _MOST_BYTES:
                return batch, True
            try:
                each = self._queue.get_nowait()
            except Empty:
                return batch, True
        return batch, False

    def _write(self, batch: list[_Waiting]) -> list[tuple[_Waiting, Exception | None]]:
        outcomes = [(each, self._doom(each)) for each in batch]
        error = self._try([each for each, doom in outcomes if doom is None])
        if error is None:
            return outcomes
        if isinstance(error, UnavailableError):
            return [(each, doom or self._fail(each, error)) for each, doom in outcomes]
        return [(each, doom or self._write_alone(each)) for each, doom in outcomes]

    def _write_alone(self, each: _Waiting) -> Exception | None:
        doom = self._doom(each)  # One of its neighbours may have failed just now.
        if doom is None and (error := self._try([each])) is not None:
            return self._fail(each, error)
        return doom

    def _doom(self, each: _Waiting) -> Exception | None:
        """Why it must not be written: something failed that it was decided upon."""
        for realm, epoch in each.epochs.items():
            if realm in self._failed and self._failed[realm][0] >= epoch:
                return self._fail(each, self._failed[realm][1])
        return None

    def _fail(self, each: _Waiting, error: Exception) -> Exception:
        for realm, epoch in each.epochs.items():
            self._failed[realm] = (epoch, error)
        return _copy(error)

    def _try(self, sets: list[_Waiting]) -> Exception | None:
        try:
            if sets:
                self._store.commit([change for each in sets for change in each.changes])
        except Exception as error:  # noqa: BLE001 - Whatever it is, whoever waits has to hear of it.
            return error
        return None

    # In the loop again

    def _resolve(self, outcomes: list[tuple[_Waiting, Exception | None]]) -> None:
        try:
            for each, error in outcomes:
                for realm in each.epochs:
                    if self._last.get(realm) is each.future:
                        del self._last[realm]
                    if error is not None and self.is_stale(realm):
                        self._tell(realm)
        finally:
            for each, error in outcomes:
                _answer(each.future, error)


def _answer(future: asyncio.Future[None], error: Exception | None) -> None:
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)
        future.exception()  # Nobody may wait for it any more; that is no news.


def _copy(error: Exception) -> Exception:
    """An error that several have to hear of, for one of them."""
    if isinstance(error, ConflictError):
        return ConflictError(error.realm)
    return type(error)(error.message, hint=error.hint) if isinstance(error, StoreError) else error
