# SPDX-License-Identifier: Apache-2.0
"""Whether a part of a cluster is ready, by what the API shows."""

from __future__ import annotations

import json

import pytest

from muster.model.setting_up import Ready
from muster.node.readiness import PATHS, find_pod_trouble, judge, path_of
from muster.release.model import ConditionKind


def daemon_set(there: int, of: int = 2) -> str:
    status = {"desiredNumberScheduled": of, "numberAvailable": there, "updatedNumberScheduled": of}
    return json.dumps({"metadata": {"generation": 1}, "status": {**status, "observedGeneration": 1}})


def deployment(available: int, updated: int, observed: int) -> str:
    status = {"availableReplicas": available, "updatedReplicas": updated, "observedGeneration": observed}
    return json.dumps({"metadata": {"generation": 3}, "spec": {"replicas": 2}, "status": status})


def api_service(status: str) -> str:
    condition = {"type": "Available", "status": status, "message": "no endpoints"}
    return json.dumps({"status": {"conditions": [condition]}})


@pytest.mark.parametrize(
    ("kind", "text", "is_ready", "words"),
    [
        ("deployment-available", "", False, "x is not there yet"),
        ("deployment-available", deployment(2, 2, 3), True, "2 of 2"),
        ("deployment-available", deployment(2, 1, 3), False, "1 of 2"),
        ("deployment-available", deployment(2, 2, 2), False, "2 of 2"),
        ("daemon-set-ready", daemon_set(2), True, "2 of 2"),
        ("daemon-set-ready", daemon_set(0, 0), False, "0 of 0"),
        ("api-service-available", api_service("False"), False, "no endpoints"),
        ("api-service-available", api_service("True"), True, ""),
        ("storage-class-exists", '{"kind": "StorageClass"}', True, "x is there"),
        ("ingress-class-exists", "", False, "x is not there yet"),
        ("deployment-available", "[]", False, "cannot be understood"),
        ("deployment-available", '{"spec": 3}', False, "cannot be understood"),
    ],
)
def test_conditions_are_judged(kind: str, text: str, words: str, *, is_ready: bool) -> None:
    found = judge(Ready(kind, "x"), text)
    assert found.is_ready is is_ready
    assert words in found.words


@pytest.mark.parametrize("kind", ConditionKind)
def test_every_kind_that_a_release_may_name_is_known(kind: ConditionKind) -> None:
    assert kind in PATHS
    assert "cannot be understood" not in judge(Ready(kind, "x"), daemon_set(1)[:-1] + ', "spec": {}}').words


def test_what_is_judged_is_found() -> None:
    there = path_of(Ready(ConditionKind.DEPLOYMENT_AVAILABLE, "x", "shop"))
    assert there == "/apis/apps/v1/namespaces/shop/deployments/x"
    assert (
        path_of(Ready(ConditionKind.DAEMON_SET_READY, "x")) == "/apis/apps/v1/namespaces/default/daemonsets/x"
    )
    service = path_of(Ready(ConditionKind.API_SERVICE_AVAILABLE, "v1.a/b"))
    assert service == "/apis/apiregistration.k8s.io/v1/apiservices/v1.a%2Fb"


def test_a_pod_that_no_node_takes_is_told_of() -> None:
    condition = {"type": "PodScheduled", "status": "False", "message": "0/1 nodes are available"}
    pod = {"metadata": {"name": "p"}, "status": {"conditions": [condition]}}
    assert find_pod_trouble(json.dumps({"items": [pod]})) == "pod p: 0/1 nodes are available"
    assert find_pod_trouble("nonsense") == ""
