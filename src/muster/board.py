# SPDX-License-Identifier: Apache-2.0
"""What the programs of a host are doing, for whoever stands before it: a small file for each of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from muster.errors import MusterError
from muster.files import save_file

FOLDER: Final = Path("/run/muster")


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

    def __init__(self, path: Path, clock: Callable[[], datetime]) -> None:
        self._path, self._clock = path, clock
        self._last: Notice | None = None

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
        since = last.since if last is not None and last.doing == doing else self._clock()
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
