# SPDX-License-Identifier: Apache-2.0
"""Log lines that callers can cause: one a minute for each network, and a bounded number for all together.

Lines that are left out are counted; the next line says how many there were.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

PERIOD_S: Final = 60.0
MAX_LINES: Final = 20
"""In a period, for all networks together."""
MAX_NETWORKS: Final = 1024


class QuietLog:
    """Writes to a logger, but not every time."""

    def __init__(
        self, logger: logging.Logger, clock: Callable[[], float], *, each: int = 1, most: int = MAX_LINES
    ) -> None:
        self._logger, self._clock = logger, clock
        self._each, self._most = each, most
        self._since = clock() - PERIOD_S
        self._lines = 0
        self._networks: dict[str, int] = {}
        self._suppressed = 0

    def note(self, network: str, message: str, *values: object) -> None:
        """A warning about what a network sent."""
        self.write(logging.WARNING, network, message, *values)

    def write(self, level: int, network: str, message: str, *values: object, error: Any = None) -> None:
        """One line, unless this network, or all together, had theirs in this period."""
        now = self._clock()
        if not 0 <= now - self._since < PERIOD_S:
            self._since, self._lines, self._networks = now, 0, {}
        seen = self._networks.get(network, 0)
        is_full = self._lines >= self._most or len(self._networks) >= MAX_NETWORKS
        if seen >= self._each or is_full:
            self._suppressed += 1
            return
        self._networks[network] = seen + 1
        self._lines += 1
        if self._suppressed:
            message, values = f"{message} (%d similar messages were suppressed)", (*values, self._suppressed)
            self._suppressed = 0
        self._logger.log(level, message, *values, exc_info=error)
