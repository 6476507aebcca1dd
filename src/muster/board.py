# SPDX-License-Identifier: Apache-2.0
"""What the programs of a host are doing, for whoever stands before it: a small file for each of them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import msgspec

from muster.errors import MusterError
from muster.files import save_file

FOLDER: Final = Path("/run/muster")
_NOTABLE_S: Final = 60.0
"""By less nobody sets a clock that is worth a word here."""


class Notice(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a program does, or waits for."""

    doing: str
    since: datetime
    trouble: str = ""
    """Why it cannot go on; empty when all is well."""
    fix: str = ""
    details: tuple[str, ...] = ()


class Board:
    """Where one program says what it does."""

    def __init__(
        self, path: Path, clock: Callable[[], datetime], steady: Callable[[], float] = time.monotonic
    ) -> None:
        """``steady``: seconds that only ever grow, however the clock is set."""
        self._path, self._clock, self._steady = path, clock, steady
        self._last: Notice | None = None
        self._difference = 0.0

    def show(self, doing: str, *, trouble: str = "", fix: str = "", details: tuple[str, ...] = ()) -> None:
        """Say it; the same again is nothing new. That nobody can read it stops no work."""
        last = self._last
        if last is not None and (last.doing, last.trouble, last.fix, last.details) == (
            doing,
            trouble,
            fix,
            details,
        ):
            return
        since = self._clock()
        moved_s = since.timestamp() - self._steady() - self._difference
        if last is not None and last.doing == doing:
            # Who reads this looks at the clock of now, which may have been set since then.
            since = last.since + timedelta(seconds=moved_s if abs(moved_s) >= _NOTABLE_S else 0)
        self._difference += moved_s
        self._last = Notice(doing, since, trouble, fix, details)
        with contextlib.suppress(MusterError, OSError):
            self._path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            save_file(self._path, msgspec.json.encode(self._last))


def read_notice(path: Path) -> Notice | None:
    """What a program said last; None when it has not said anything that can be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Notice)
    except (OSError, msgspec.DecodeError):
        return None
