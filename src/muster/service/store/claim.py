# SPDX-License-Identifier: Apache-2.0
"""A file database is one service's alone; the lock on it also tells when that was there last."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from muster.errors import UserError, cannot
from muster.lock import take_lock


class Claim:
    """Held until it is released, or until the process ends in whatever way."""

    def __init__(self, database: Path) -> None:
        self._path = database.with_name(f"{database.name}.lock")
        try:
            self.last_seen = _time_of(self._path)
            """When a service was last there, by the clock of then; none: never."""
            self._lock = take_lock(self._path, on_wait=lambda holder: _refuse(database, holder))
        except OSError as error:
            raise cannot("lock", self._path, error) from error

    def touch(self, now: datetime) -> None:
        """The service is there."""
        with suppress(OSError):  # A full disk or the like is told by what is written to it.
            os.utime(self._path, (now.timestamp(), now.timestamp()))

    def release(self) -> None:
        """Others may have it."""
        self._lock.release()


def _time_of(path: Path) -> datetime | None:
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except FileNotFoundError:
        return None


def _refuse(database: Path, holder: str) -> None:
    who = f"the service with process id {holder}" if holder else "another service"
    raise UserError(
        f"{database} is in use by {who}",
        hint="end that one first, or give this one another --data; several services share a PostgreSQL",
    )
