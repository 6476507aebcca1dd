# SPDX-License-Identifier: Apache-2.0
"""The parts that a caller can play, and what each may do."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, TypeAlias


class Persona(StrEnum):
    """Who is calling."""

    USER = "user"
    """A person, or a program that a person gave their login."""
    AGENT = "agent"
    """What runs on a host: agent, installer, controller."""
    WATCHER = "watcher"
    """One who only looks: `wait-for`, a dashboard, the metrics collector."""
    IMAGE = "image"
    """One who fetches a medium or a piece of it: a BMC, a boot loader, an image server."""
    ANYONE = "anyone"
    """One who has not said who they are."""


Who: TypeAlias = frozenset[Persona]
"""The personas that may call an operation."""

ANYONE: Final[Who] = frozenset({Persona.ANYONE})
"""Operations that nobody has to say their name for."""
