# SPDX-License-Identifier: Apache-2.0
"""What the programs of a host write into its journal, told to the service as it comes, for whoever watches.

It is a help for people and nothing depends on it: what cannot be told is left out.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from muster.client.calls import Refused, Unreachable
from muster.frozen import dataclass
from muster.machine import Machine
from muster.redact import printable, redact

EVERY_S: Final = 5.0
_DEADLINE_S: Final = 20.0
_REFUSED_S: Final = 60.0
_MOST: Final = 200
"""So many lines are told at once; of more, the last ones."""
_LONGEST: Final = 1000
_UNITS: Final = ("muster-*", "NetworkManager", "chrony*")
_CURSOR: Final = "-- cursor: "


class Ear(Protocol):
    """Who is told."""

    async def log_lines(self, lines: tuple[str, ...]) -> None: ...


@dataclass(frozen=True)
class Read:
    """New lines, and where the journal goes on."""

    lines: tuple[str, ...] = ()
    cursor: str = ""


async def read_journal(machine: Machine, cursor: str = "") -> Read:
    """What was written since; without a cursor, the last lines. Without a journal, nothing."""
    after = (f"--after-cursor={cursor}",) if cursor else ()
    argv = ("journalctl", "--no-pager", "--quiet", "--output=short-iso", "--show-cursor", f"--lines={_MOST}")
    said = await machine.ask((*argv, *after, *(f"--unit={each}" for each in _UNITS)), deadline_s=_DEADLINE_S)
    if not said.is_ok:
        return Read(cursor=cursor)
    return parse_journal(said.out, cursor)


def parse_journal(text: str, cursor: str = "") -> Read:
    """Lines without what must not be seen, and the cursor behind them."""
    lines = []
    for line in text.splitlines():
        if line.startswith(_CURSOR):
            cursor = line.removeprefix(_CURSOR).strip()
        elif line.strip():
            lines.append(printable(redact(line[:_LONGEST])))
    return Read(tuple(lines[-_MOST:]), cursor)


async def tell_journal(
    machine: Machine, ear: Ear, is_known: Callable[[], bool], sleep: Callable[[float], Awaitable[None]]
) -> None:
    """Until cancelled. What was not taken is told the next time; who refuses it is asked seldom."""
    cursor = ""
    while True:
        await sleep(EVERY_S)
        if not is_known():
            continue
        found = await read_journal(machine, cursor)
        try:
            if found.lines:
                await ear.log_lines(found.lines)
        except Unreachable:
            continue
        except Refused:
            await sleep(_REFUSED_S)
            continue
        cursor = found.cursor
