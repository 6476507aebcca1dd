# SPDX-License-Identifier: Apache-2.0
"""Operations that tell what the service knows, and what has happened."""

from __future__ import annotations

from typing import Final

from muster.service.api.table.route import PREFIX, USER, WATCHER, Route, host, narrowed, under

_START: Final = f"{PREFIX}/v2"
_get = under("GET", _START)
_post = under("POST", _START)

CATALOGUE: Final[tuple[Route, ...]] = (
    _get(
        "/domains",
        "V2ListManagedDomains",
        USER,
        200,
        "List the DNS domains that the service keeps records in; there are none.",
    ),
    _get(
        "/supported-operators/{operator_name}",
        "V2ListOperatorProperties",
        USER,
        200,
        "List the settings of an operator.",
    ),
    _get(
        "/supported-operators",
        "V2ListSupportedOperators",
        USER,
        200,
        "List the operators that can be installed with a cluster.",
    ),
    _get(
        "/operators/bundles",
        "V2ListBundles",
        USER,
        200,
        "List the groups of operators that are installed together.",
    ),
    _get("/operators/bundles/{id}", "V2GetBundle", USER, 200, "Show one group of operators."),
    _get(
        "/component-versions",
        "v2ListComponentVersions",
        USER,
        200,
        "List the versions of the service's parts.",
    ),
    _get(
        "/openshift-versions",
        "v2ListSupportedOpenshiftVersions",
        USER,
        200,
        "List the releases that can be installed.",
    ),
    _get("/release-sources", "v2ListReleaseSources", USER, 200, "List where releases are looked for."),
    narrowed(
        _get(
            "/events",
            "v2ListEvents",
            USER | WATCHER,
            200,
            "List what has happened, newest or oldest first, with filters.",
        )
    ),
    narrowed(
        _post(
            "/events",
            "v2TriggerEvent",
            host("a host records that its clock was set"),
            201,
            "Add an event about the calling host.",
        )
    ),
    _get(
        "/support-levels/features",
        "GetSupportedFeatures",
        USER,
        200,
        "List how well each feature is supported by a release.",
    ),
    _get(
        "/support-levels/features/detailed",
        "GetDetailedSupportedFeatures",
        USER,
        200,
        "List how well each feature is supported by a release, and why not where it is not.",
    ),
    _get(
        "/support-levels/architectures",
        "GetSupportedArchitectures",
        USER,
        200,
        "List how well each architecture is supported by a release.",
    ),
)
