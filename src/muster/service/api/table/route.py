# SPDX-License-Identifier: Apache-2.0
"""One operation of the interface, as data: how it is called, by whom, and what it says when all is well."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, Literal, TypeAlias

from muster.frozen import dataclass
from muster.service.auth.personas import Cell, Persona, Who

Method: TypeAlias = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Cells: TypeAlias = frozenset[Cell]

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
    cells: Cells
    """The roles that may call it, and under which conditions."""
    ok_status: int
    summary: str
    narrows: bool = False
    """Whether the answer is cut down to what the caller's token is for."""

    @property
    def who(self) -> Who:
        """The roles alone."""
        return frozenset(cell.persona for cell in self.cells)


Maker: TypeAlias = Callable[[str, str, Cells, int, str], Route]

ANYONE: Final[Cells] = frozenset({Cell(Persona.ANYONE, "it is needed before a login")})
USER: Final[Cells] = frozenset({Cell(Persona.USER, "people manage clusters")})
WATCHER: Final[Cells] = frozenset({Cell(Persona.WATCHER, "`wait-for` and dashboards show the progress")})
KEYLESS: Final[Cells] = frozenset(
    {Cell(Persona.MEDIUM, "agents of the assisted installer have no token of their own", keyless=True)}
)


def host(why: str, **conditions: Any) -> Cells:
    """A host may call this, with its own token, for itself or for its own cluster."""
    return frozenset({Cell(Persona.HOST, why, **conditions)})


def medium(why: str, **conditions: Any) -> Cells:
    """Whatever booted a medium may call this, with the token that all hosts of the medium share."""
    return frozenset({Cell(Persona.MEDIUM, why, **conditions)})


def image(why: str) -> Cells:
    """The holder of a signed address of one file may call this."""
    return frozenset({Cell(Persona.IMAGE, why)})


def narrowed(route: Route) -> Route:
    """The same route, cutting down its answer, or what it takes, to what the caller's token is for."""
    return replace(route, narrows=True)


def under(method: Method, prefix: str) -> Maker:
    """Makes routes of one method whose paths begin alike."""

    def make(path: str, operation_id: str, cells: Cells, ok_status: int, summary: str) -> Route:
        return Route(method, prefix + path, operation_id, cells, ok_status, summary)

    return make
