# SPDX-License-Identifier: Apache-2.0
"""The table of operations holds together."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from muster.service.api.table import ROUTES
from muster.service.api.table.browser import BROWSER
from muster.service.api.table.ours import OURS
from muster.service.api.table.render import render_table
from muster.service.api.table.route import PREFIX, Route
from muster.service.auth.personas import Persona

FOREIGN = [route for route in ROUTES if route not in (*OURS, *BROWSER)]


def test_every_operation_of_the_interface_is_there() -> None:
    assert len(FOREIGN) == 81
    assert all(route.path.startswith(f"{PREFIX}/v2/") for route in FOREIGN)


def test_no_two_routes_are_called_alike() -> None:
    assert max(Counter((route.method, route.path) for route in ROUTES).values()) == 1
    assert max(Counter(route.operation_id.lower() for route in ROUTES).values()) == 1


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation_id)
def test_route(route: Route) -> None:
    assert re.fullmatch(r"(/[a-z0-9.-]+|/\{[a-z_]+\})+", route.path)
    assert re.fullmatch(r"[A-Z][^.]*[^.]\.", route.summary), "one plain sentence"
    assert route.ok_status in (200, 201, 202, 204)
    assert route.who
    assert all(cell.why for cell in route.cells), "every right has a reason"
    assert route.who == {Persona.ANYONE} or Persona.ANYONE not in route.who


def test_only_our_own_operations_are_open_to_anyone() -> None:
    assert {route.operation_id for route in ROUTES if Persona.ANYONE in route.who} == {
        "v2GetLogin",
        "v2Login",
        "v2Logout",
        "health",
        "ready",
        "openapi",
        "v2GetService",
        "v2ListValidations",
    }


def test_watchers_and_images_only_read() -> None:
    for route in ROUTES:
        if route.who & {Persona.WATCHER, Persona.IMAGE}:
            assert route.method == "GET"


def test_the_table_in_the_docs_shows_every_operation() -> None:
    lines = render_table(ROUTES).splitlines()
    assert len(lines) == len(ROUTES) + 2
    assert len({line.count("|") for line in lines}) == 1
    row = next(line for line in lines if f"`GET {PREFIX}/v2/clusters`" in line)
    assert row.endswith("| yes | yes |  |  |  | 200 |")
    assert next(line for line in lines if "`GET /health`" in line).endswith(
        "| anyone | anyone | anyone | anyone | anyone | 200 |"
    )
