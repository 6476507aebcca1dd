# SPDX-License-Identifier: Apache-2.0
"""The table of operations as the docs show it."""

from __future__ import annotations

from collections.abc import Iterable

from muster.service.api.table.route import Route
from muster.service.auth.personas import ANYONE, Persona

_PEOPLE = (Persona.USER, Persona.AGENT, Persona.WATCHER, Persona.IMAGE)


def render_table(routes: Iterable[Route]) -> str:
    """Every operation with who may call it, as Markdown."""
    head = ["operation", "what it does", *_PEOPLE, "answer"]
    rows = [_row(route) for route in sorted(routes, key=lambda route: (route.path, route.method))]
    return "\n".join([_line(head), _line(["---"] * len(head)), *map(_line, rows)]) + "\n"


def _row(route: Route) -> list[str]:
    marks = ["anyone" if route.who == ANYONE else "yes" if each in route.who else "" for each in _PEOPLE]
    return [f"`{route.method} {route.path}`", route.summary, *marks, str(route.ok_status)]


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
