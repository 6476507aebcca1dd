# SPDX-License-Identifier: Apache-2.0
"""Whether a service can take requests: its store can be written.

What the last write came to is known; only when that was long ago, a small write is tried.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from muster.errors import MusterError
from muster.service.store.port import Store, StoreError, UnavailableError

GOOD_FOR_S: Final = 30.0
"""How long a write that succeeded counts."""
BAD_FOR_S: Final = 5.0
"""How long a write that failed counts."""
PATIENCE_S: Final = 2.0
"""How long a caller waits for a write that is tried."""
_PROBE: Final = "probe"
_PROBE_TEXT: Final = "x" * (16 << 10)
"""As much as a small change takes: a disk with a few bytes left is full."""


class Readiness:
    """Records the result of writes, and makes a probe write when there was none for a while."""

    def __init__(self, store: Store, steady: Callable[[], float]) -> None:
        self._store, self._steady = store, steady
        self._at: float | None = None
        self._reason = ""
        self._probing: asyncio.Task[None] | None = None

    def note(self, error: Exception | None = None) -> None:
        """A write was done, or failed."""
        self._at, self._reason = self._steady(), "" if error is None else describe(error)

    async def ask(self) -> str:
        """Why the service is not ready; empty when it is."""
        good_for = BAD_FOR_S if self._reason else GOOD_FOR_S
        if self._at is not None and self._steady() - self._at < good_for:
            return self._reason
        if self._probing is None:
            self._probing = asyncio.ensure_future(self._probe())
        try:
            async with asyncio.timeout(PATIENCE_S):
                await asyncio.shield(self._probing)
        except TimeoutError:
            return f"the database cannot be written: a write takes more than {PATIENCE_S:g} s"
        return self._reason

    async def _probe(self) -> None:
        try:
            await asyncio.to_thread(self._write)
        except MusterError as error:
            self.note(error)
        else:
            self.note()
        finally:
            self._probing = None

    def _write(self) -> None:
        self._store.write_note(_PROBE, _PROBE_TEXT)
        self._store.write_note(_PROBE, "")

    async def close(self) -> None:
        """Wait for a write that is under way."""
        if self._probing is not None:
            await asyncio.gather(self._probing, return_exceptions=True)


def describe(error: Exception) -> str:
    """Why a write failed, without names of files and addresses: anyone may ask."""
    if isinstance(error, UnavailableError):
        return "the database cannot be written: it is not available"
    hint = error.hint if isinstance(error, StoreError) else ""
    return f"the database cannot be written; {hint}" if hint else "the database cannot be written"
