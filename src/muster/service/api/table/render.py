# SPDX-License-Identifier: Apache-2.0
"""The table of operations as the docs show it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from muster.service.api.table.route import Route
from muster.service.auth.personas import Persona

ROLES: Final = (Persona.USER, Persona.WATCHER, Persona.HOST, Persona.MEDIUM, Persona.IMAGE)
_EXPLAINED: Final = (Persona.HOST, Persona.MEDIUM, Persona.IMAGE)


def render_table(routes: Iterable[Route]) -> str:
    """Every operation with the roles that may call it, as Markdown."""
    head = ["operation", "what it does", *ROLES, "answer"]
    rows = [_row(route) for route in _sorted(routes)]
    return "\n".join([_line(head), _line(["---"] * len(head)), *map(_line, rows)]) + "\n"


def render_reasons(routes: Iterable[Route]) -> str:
    """What each right of hosts, media and signed addresses is needed for, as Markdown."""
    head = ["operation", "role", "conditions", "needed because"]
    rows = [
        [f"`{route.operation_id}`", str(cell.persona), cell.conditions, cell.why]
        for route in _sorted(routes)
        for cell in sorted(route.cells, key=lambda cell: (cell.persona, cell.conditions))
        if cell.persona in _EXPLAINED
    ]
    return "\n".join([_line(head), _line(["---"] * len(head)), *map(_line, rows)]) + "\n"


def _sorted(routes: Iterable[Route]) -> list[Route]:
    return sorted(routes, key=lambda route: (route.path, route.method))


def _row(route: Route) -> list[str]:
    return [
        f"`{route.method} {route.path}`",
        route.summary,
        *(_mark(route, role) for role in ROLES),
        str(route.ok_status),
    ]


def _mark(route: Route, role: Persona) -> str:
    if Persona.ANYONE in route.who:
        return "anyone"
    cells = sorted((cell for cell in route.cells if cell.persona is role), key=lambda cell: cell.conditions)
    return ", or ".join(cell.conditions or "yes" for cell in cells)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
