# SPDX-License-Identifier: Apache-2.0
"""Paths find their operations, however many slashes they have."""

from __future__ import annotations

import pytest

from muster.service.api.router import Router
from muster.service.api.table import ROUTES
from muster.service.api.table.route import PREFIX, Route

ROUTER = Router(ROUTES)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation_id)
def test_every_operation_is_found(route: Route) -> None:
    path = route.path.replace("{", "").replace("}", "")
    routes, ids = ROUTER.find(path)
    assert routes[route.method] == route
    assert all(name == value for name, value in ids.items())


@pytest.mark.parametrize(
    ("path", "operation"),
    [
        ("/v2/clusters/", "v2ListClusters"),
        ("/v2//clusters//default-config", "V2GetClusterDefaultConfig"),
        ("/v2/infra-envs/1/hosts/", "v2ListHosts"),
        ("/v2/infra-env/1/hosts/2/downloads/ignition", "v2DownloadHostIgnition"),
    ],
)
def test_slashes_do_not_count(path: str, operation: str) -> None:
    assert ROUTER.find(PREFIX + path)[0]["GET"].operation_id == operation


@pytest.mark.parametrize("path", ["/", "/v2", f"{PREFIX}/v2/nothing", f"{PREFIX}/v2/clusters/1/nothing"])
def test_what_is_not_there_is_not_found(path: str) -> None:
    assert ROUTER.find(path)[0] == {}
