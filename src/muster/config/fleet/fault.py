# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a table of sites: a line of it, a fact, and an action."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Fault:
    """A mistake in the table, or in how it meets the template."""

    where: str
    """File and line."""
    message: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" + (f"\n      fix: {self.hint}" if self.hint else "")


class RowError(Exception):
    """A row that cannot be used; the others can."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def render_faults(faults: Iterable[Fault], most: int = 20) -> str:
    """The first faults for people, and how many more there are."""
    found = list(faults)
    lines = [str(fault) for fault in found[:most]]
    if len(found) > most:
        lines.append(f"... and {len(found) - most:,} more like these")
    return "\n".join(lines)
