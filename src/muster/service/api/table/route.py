# SPDX-License-Identifier: Apache-2.0
"""One operation of the interface, as data: how it is called, by whom, and what it says when all is well."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, Literal, TypeAlias

from muster.frozen import dataclass
from muster.service.auth.personas import ANYONE, Persona, Who

Method: TypeAlias = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]

PREFIX: Final = "/api/assisted-install"
"""Where the interface begins; what the service has beside it, such as its health, stands at the top."""


@dataclass(frozen=True)
class Route:
    """One operation."""

    method: Method
    path: str
    """The whole path, with names in braces for the ids in it."""
    operation_id: str
    """What generated clients call it."""
    who: Who
    ok_status: int
    summary: str
    narrows: bool = False
    """Whether the answer is cut down to what the caller's token is for."""


Maker: TypeAlias = Callable[[str, str, Who, int, str], Route]

USER: Final[Who] = frozenset({Persona.USER})
AGENT: Final[Who] = frozenset({Persona.AGENT})
WATCHER: Final[Who] = frozenset({Persona.WATCHER})
IMAGE: Final[Who] = frozenset({Persona.IMAGE})

__all__ = ["AGENT", "ANYONE", "IMAGE", "PREFIX", "USER", "WATCHER", "Method", "Route", "narrowed", "under"]


def narrowed(route: Route) -> Route:
    """The same route, cutting down its answer, or what it takes, to what the caller's token is for."""
    return replace(route, narrows=True)


def under(method: Method, prefix: str) -> Maker:
    """Makes routes of one method whose paths begin alike."""

    def make(path: str, operation_id: str, who: Who, ok_status: int, summary: str) -> Route:
        return Route(method, prefix + path, operation_id, who, ok_status, summary)

    return make
