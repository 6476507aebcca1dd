# SPDX-License-Identifier: Apache-2.0
"""The journal: the last lines of Muster's programs, and what happens to the console itself."""

from __future__ import annotations

import logging
import logging.handlers
from pathlib import Path
from typing import Final

from muster.machine import Machine
from muster.redact import redact

_LINES: Final = 300
_ASK_S: Final = 20.0


async def read_journal(machine: Machine) -> str:
    """The last lines of Muster's programs since the host booted."""
    said = await machine.ask(
        ["journalctl", "--boot", "--unit=muster-*", f"--lines={_LINES}", "--output=short", "--no-pager"],
        deadline_s=_ASK_S,
    )
    return redact(said.out) if said.is_ok else f"the journal cannot be read: {said.trouble}"


class _Journal(logging.handlers.SysLogHandler):
    """A journal that is gone is given up without a word: there is no other place for words."""

    def handleError(self, record: logging.LogRecord) -> None:  # the name is logging's
        """Nothing."""


class _Redacting(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))


def log_to_journal(logger: logging.Logger, socket: Path = Path("/dev/log")) -> None:
    """Messages go to the journal only: the terminal is a screen."""
    logger.handlers.clear()
    try:
        handler: logging.Handler = _Journal(address=str(socket))
    except OSError:
        handler = logging.NullHandler()
    handler.setFormatter(_Redacting("muster-console: %(levelname)s %(message)s"))
    logger.addHandler(handler)
