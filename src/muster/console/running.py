# SPDX-License-Identifier: Apache-2.0
"""Runs a console: drawn where that can be, as plain text where it cannot, and again when it fails."""

from __future__ import annotations

import logging
from collections.abc import Callable, MutableMapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, TextIO

from muster.agent.meeting.place import MeetingPlace
from muster.console.gathering import Gatherer, Sources
from muster.console.looking import Course, Looker
from muster.console.plain import Hearing, show_plain
from muster.frozen import dataclass
from muster.links import open_changes
from muster.machine import Machine, ThisMachine

if TYPE_CHECKING:
    from muster.console.app import Means

SHELL: Final = "shell"
"""What a console ends with when somebody wants a shell."""
_TRIES: Final = 3
_logger: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class Terminal:
    """Where a console is shown."""

    tty: str
    """Its path; empty when it is none."""
    environment: MutableMapping[str, str]
    stream: TextIO
    is_plain: bool = False
    keys: int | None = None
    """The descriptor that somebody types to; None when nobody does."""


async def run_console(
    terminal: Terminal, find_course: Callable[[], Course | None], machine: Machine | None = None
) -> str:
    """Show the console until somebody wants a shell, or the line is hung up."""
    looker = Looker(find_course)
    async with open_changes() as changes:
        gatherer = Gatherer(Sources(machine or ThisMachine(), looker.look, changes))
        try:
            return await _show(terminal, gatherer, machine or ThisMachine())
        finally:
            await looker.close()


async def _show(terminal: Terminal, gatherer: Gatherer, machine: Machine) -> str:
    if terminal.tty and not terminal.is_plain:
        try:
            ended = await _draw(terminal, gatherer, machine)
        except Exception:
            _logger.exception("the console cannot be drawn on %s", terminal.tty)
            ended = None
        if ended is not None:
            return ended
    hearing = Hearing(terminal.keys, MeetingPlace(machine.root)) if terminal.keys is not None else None
    await show_plain(gatherer, terminal.stream, _now, hearing=hearing)
    return ""


async def _draw(terminal: Terminal, gatherer: Gatherer, machine: Machine) -> str | None:
    """How it ended; None when this terminal is not for drawing, or it failed again and again."""
    from muster.console.kinds import SCREEN, is_plain, settle_environment

    kind = settle_environment(terminal.environment, terminal.tty)
    if is_plain(kind):
        return None
    from muster.console.app import ConsoleApp, Means

    for _ in range(_TRIES):
        means: Means = Means(machine, gatherer, has_blocks=kind == SCREEN)
        app = ConsoleApp(means)
        ended = await app.run_async(mouse=False)
        if not app.return_code:
            return ended or ""
    return None


def _now() -> datetime:
    return datetime.now(UTC)
