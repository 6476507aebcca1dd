# SPDX-License-Identifier: Apache-2.0
"""Operations of our own, beside those that existing clients know."""

from __future__ import annotations

from typing import Final

from muster.service.api.table.route import ANYONE, PREFIX, USER, WATCHER, Route, host, narrowed, under

_START: Final = f"{PREFIX}/v2"
_get = under("GET", _START)
_post = under("POST", _START)
_delete = under("DELETE", _START)
_top = under("GET", "")

OURS: Final[tuple[Route, ...]] = (
    narrowed(_get("/stream", "v2Stream", USER | WATCHER, 200, "Follow what changes, as server-sent events.")),
    _get(
        "/clusters/{cluster_id}/steps",
        "v2GetClusterSteps",
        USER | WATCHER,
        200,
        "List the steps of the wizard: which are ready, and what blocks the others.",
    ),
    _get(
        "/clusters/{cluster_id}/why",
        "v2GetClusterWhy",
        USER | WATCHER | host("the console of a host shows what the cluster waits for"),
        200,
        "Say what the cluster is waiting for, since when, and who can mend it.",
    ),
    _post(
        "/infra-envs/{infra_env_id}/hosts/{host_id}/actions/approve-enrolment",
        "v2ApproveHostEnrolment",
        USER,
        200,
        "Let a host register with another key, for ten minutes.",
    ),
    _get("/login", "v2GetLogin", ANYONE, 200, "Say who the caller is, and which ways there are to log in."),
    _post(
        "/login", "v2Login", ANYONE, 201, "Log in with a password, or with the code that the console shows."
    ),
    _delete("/login", "v2Logout", ANYONE, 204, "Log out."),
    _top("/health", "health", ANYONE, 200, "Say that the service runs."),
    _top("/ready", "ready", ANYONE, 200, "Say whether the service can take requests."),
    _top("/metrics", "metrics", USER | WATCHER, 200, "Show the figures of the service for Prometheus."),
    _top("/openapi.json", "openapi", ANYONE, 200, "Show this interface as an OpenAPI document."),
)
