# SPDX-License-Identifier: Apache-2.0
"""Schemathesis calls every operation with what its document allows, and with what it does not.

First people, who may call everything; then other roles, which must not get further than the table says.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode, Response
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi import checks

from muster.service.api.openapi import build_openapi
from muster.service.api.table import ROUTES
from muster.service.api.table.route import Route
from muster.service.api.table.shapes import SHAPES
from muster.service.auth.personas import Grant, Persona
from muster.service.edge.tls import AUTHORITY
from tests.component.service.test_personas import HOSTS, UNHURRIED, Place, furnish
from tests.component.service.whole import Whole, open_service

DOCUMENT: Final = build_openapi(ROUTES, "1.2.3")
SCHEMA: Final = schemathesis.openapi.from_dict(DOCUMENT)
SCHEMA.config.generation.update(with_security_parameters=False)
OPERATIONS: Final = {
    each.ok().definition.raw["operationId"]: each.ok()
    for each in SCHEMA.get_all_operations()
    if isinstance(each, Ok)
}
ENDLESS: Final = {"v2Stream": "it never ends; it has tests of its own"}
CALLED: Final = [each for each in ROUTES if each.operation_id not in ENDLESS]
POSITIVE, NEGATIVE = GenerationMode.POSITIVE, GenerationMode.NEGATIVE
TOO_MUCH: Final = (413, 414, 431)
"""Refused as well, though not for what is said."""
KEPT: Final = frozenset({"v2DeregisterCluster", "DeregisterInfraEnv", "v2DeregisterHost"})
"""What would end what the others are called about is called about nothing."""
EXAMPLES: Final = 8
PATIENCE_S: Final = 300.0
"""The machine may be busy: the ten seconds of the library are no part of the contract."""
CHECKS: Final = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]


@dataclass
class Serving:
    """A service in a thread of its own, and one who asks it."""

    url: str = ""
    place: Place = field(default_factory=lambda: Place("", "", ""))
    session: requests.Session = field(default_factory=requests.Session)
    authority: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    roles: dict[Persona, dict[str, str]] = field(default_factory=dict)
    """The headers of other callers."""


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """One service for all operations."""
    folder, found = tmp_path_factory.mktemp("contract"), Serving()
    ready, loops, end = threading.Event(), [], asyncio.Event()

    async def serve() -> None:
        async with open_service(folder, limits=UNHURRIED) as site:
            await _furnish(site, found, folder)
            loops.append(asyncio.get_running_loop())
            ready.set()
            await end.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(PATIENCE_S)
    yield found
    found.session.close()
    loops[0].call_soon_threadsafe(end.set)
    thread.join(PATIENCE_S)
    assert not thread.is_alive()


async def _furnish(site: Whole, found: Serving, folder: Path) -> None:
    found.url, found.place = site.running.url, await furnish(site, "alpha", HOSTS[0])
    found.session.trust_env = False
    found.authority = str(folder / "data/keys" / AUTHORITY)
    found.headers["Authorization"] = f"Bearer {site.token}"
    own = site.running.service.around.host_tokens.issue
    host_token = own(found.place.infra_env_id, found.place.host_id)
    found.headers["X-Secret-Key"] = host_token
    watcher = site.running.tokens.issue(Grant(Persona.WATCHER, expires=time.time() + PATIENCE_S * 100))
    found.roles = {
        Persona.HOST: {"X-Secret-Key": host_token},
        Persona.MEDIUM: {"X-Secret-Key": site.agent_token(found.place.infra_env_id)},
        Persona.WATCHER: {"Watcher-Authorization": watcher},
        Persona.ANYONE: {},
    }


@pytest.mark.parametrize("mode", [POSITIVE, NEGATIVE], ids=lambda mode: mode.value)
@pytest.mark.parametrize("route", CALLED, ids=lambda each: each.operation_id)
def test_an_operation_keeps_to_its_document(
    serving: Serving, route: Route, mode: GenerationMode, request: pytest.FixtureRequest
) -> None:
    made = _strategies(route, mode, serving.place)
    if not made:
        assert mode is NEGATIVE  # Nothing that can be said is wrong.
        return
    statuses: list[int] = []

    @few_examples(max(EXAMPLES, request.config.getoption("--api-examples")))
    @given(case=st.one_of(made))
    def call(case: Case[Any]) -> None:
        response = _call(serving, route, case)
        statuses.append(response.status_code)
        case.validate_response(response, checks=CHECKS)
        if mode is NEGATIVE and response.status_code not in TOO_MUCH and "" not in _said(response):
            case.validate_response(response, checks=[checks.negative_data_rejection])
        if 200 <= response.status_code < 300:
            assert response.status_code in {route.ok_status, *SHAPES[route.operation_id].statuses}

    call()
    assert statuses


@pytest.mark.parametrize("role", [Persona.HOST, Persona.MEDIUM, Persona.WATCHER, Persona.ANYONE])
@pytest.mark.parametrize("route", CALLED, ids=lambda each: each.operation_id)
def test_a_role_gets_no_further_than_the_table_says(
    serving: Serving, route: Route, role: Persona, request: pytest.FixtureRequest
) -> None:
    statuses: list[int] = []
    strategies = [each for mode in (POSITIVE, NEGATIVE) for each in _strategies(route, mode, serving.place)]

    @few_examples(request.config.getoption("--api-examples"))
    @given(case=st.one_of(strategies))
    def call(case: Case[Any]) -> None:
        response = _call(serving, route, case, serving.roles[role])
        statuses.append(response.status_code)
        case.validate_response(response, checks=[not_a_server_error])
        if not route.who & {role, Persona.ANYONE}:
            assert response.status_code >= 300, response.text

    call()
    assert statuses


def few_examples(count: int) -> settings:
    """Always the same calls; nothing is shrunk."""
    return settings(
        max_examples=count,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


def _strategies(route: Route, mode: GenerationMode, place: Place) -> list[st.SearchStrategy[Case[Any]]]:
    """Calls about anything, and calls about what is there."""
    operation, shape = OPERATIONS[route.operation_id], SHAPES[route.operation_id]
    names = [name for name in vars(place) if f"{{{name}}}" in route.path]
    has_more = shape.body is not None or bool(shape.parameters)
    made = []
    if mode is POSITIVE or has_more or names:
        made.append(operation.as_strategy(generation_mode=mode))
    if names and (mode is POSITIVE or has_more) and route.operation_id not in KEPT:
        known = {name: getattr(place, name) for name in names}
        made.append(operation.as_strategy(generation_mode=mode, path_parameters=known))
    return made


def _said(response: Response) -> list[str | bytes]:
    """What stood in query and headers; a parameter with nothing behind it is as good as none."""
    query = parse_qsl(urlsplit(str(response.request.url)).query, keep_blank_values=True)
    return [*(value for _, value in query), *response.request.headers.values()]


def _call(serving: Serving, route: Route, case: Case[Any], headers: dict[str, str] | None = None) -> Response:
    headers = dict(serving.headers if headers is None else headers)
    if route.operation_id == "v2Logout":
        headers.clear()  # Nobody in particular: the others stay logged in.
    return case.call(
        base_url=serving.url,
        session=serving.session,
        headers=headers,
        verify=serving.authority,
        timeout=PATIENCE_S,
    )
