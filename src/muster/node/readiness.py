# SPDX-License-Identifier: Apache-2.0
"""Whether a part of a cluster is ready, by what the API shows of it; and if not, how far it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote

import msgspec

from muster.frozen import dataclass
from muster.model.setting_up import Ready
from muster.release.model import ConditionKind


@dataclass(frozen=True)
class Judgement:
    """What was seen."""

    is_ready: bool
    words: str


PATHS: Final[Mapping[str, str]] = {
    ConditionKind.DEPLOYMENT_AVAILABLE: "/apis/apps/v1/namespaces/{namespace}/deployments/{name}",
    ConditionKind.DAEMON_SET_READY: "/apis/apps/v1/namespaces/{namespace}/daemonsets/{name}",
    ConditionKind.API_SERVICE_AVAILABLE: "/apis/apiregistration.k8s.io/v1/apiservices/{name}",
    ConditionKind.STORAGE_CLASS_EXISTS: "/apis/storage.k8s.io/v1/storageclasses/{name}",
    ConditionKind.INGRESS_CLASS_EXISTS: "/apis/networking.k8s.io/v1/ingressclasses/{name}",
}
"""What is looked at for each kind of condition."""


def path_of(wanted: Ready) -> str:
    """Where the API shows what a condition is about."""
    namespace, name = quote(wanted.namespace or "default", ""), quote(wanted.name, "")
    return PATHS[wanted.kind].format(namespace=namespace, name=name)


def judge(wanted: Ready, text: str | bytes) -> Judgement:
    """Whether a condition holds, by the object that the API shows; nothing: it is not there."""
    try:
        body = msgspec.json.decode(text, type=dict[str, Any]) if text.strip() else {}
        if not body:
            return Judgement(False, f"{wanted.name} is not there yet")
        return _JUDGES[wanted.kind](wanted, body)
    except (msgspec.DecodeError, AttributeError, TypeError, KeyError):
        return Judgement(False, f"what is told of {wanted.name} cannot be understood")


def _deployment(_: Ready, body: Mapping[str, Any]) -> Judgement:
    status = body.get("status") or {}
    count = body["spec"].get("replicas", 1)
    there = min(status.get("availableReplicas", 0), status.get("updatedReplicas", 0))
    is_seen = status.get("observedGeneration", 0) >= body["metadata"].get("generation", 1)
    return Judgement(is_seen and there >= count, _pods(there, count))


def _daemon_set(_: Ready, body: Mapping[str, Any]) -> Judgement:
    status = body.get("status") or {}
    count = status.get("desiredNumberScheduled", 0)
    there = min(status.get("numberAvailable", 0), status.get("updatedNumberScheduled", 0))
    is_seen = status.get("observedGeneration", 0) >= body["metadata"].get("generation", 1)
    return Judgement(is_seen and there >= count > 0, _pods(there, count))


def _pods(there: int, count: int) -> str:
    return f"{there} of {count} pods ready"


def _api_service(wanted: Ready, body: Mapping[str, Any]) -> Judgement:
    conditions = (body.get("status") or {}).get("conditions") or ()
    found: Mapping[str, Any] = next((each for each in conditions if each["type"] == "Available"), {})
    is_ready = found.get("status") == "True"
    return Judgement(is_ready, f"{wanted.name}: {found.get('message') or 'it does not answer yet'}")


def _there(wanted: Ready, _: Mapping[str, Any]) -> Judgement:
    return Judgement(True, f"{wanted.name} is there")


_JUDGES: Final[Mapping[str, Callable[[Ready, Mapping[str, Any]], Judgement]]] = {
    ConditionKind.DEPLOYMENT_AVAILABLE: _deployment,
    ConditionKind.DAEMON_SET_READY: _daemon_set,
    ConditionKind.API_SERVICE_AVAILABLE: _api_service,
    ConditionKind.STORAGE_CLASS_EXISTS: _there,
    ConditionKind.INGRESS_CLASS_EXISTS: _there,
}


def find_pod_trouble(text: str | bytes) -> str:
    """Why a pod among those that the API lists does not run, as its kubelet or the scheduler tells it."""
    try:
        body = msgspec.json.decode(text, type=dict[str, Any])
        return next(_pod_troubles(body["items"]), "")
    except (msgspec.DecodeError, AttributeError, TypeError, KeyError):
        return ""


def _pod_troubles(pods: list[dict[str, Any]]) -> Iterator[str]:
    for pod in pods:
        status, name = pod.get("status") or {}, pod["metadata"]["name"]
        for container in status.get("containerStatuses") or ():
            waiting = (container.get("state") or {}).get("waiting") or {}
            if waiting.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
                yield f"pod {name}: {waiting['reason']}: {waiting.get('message', '')}".rstrip(": ")
        for condition in status.get("conditions") or ():
            if condition["type"] == "PodScheduled" and condition["status"] == "False":
                yield f"pod {name}: {condition.get('message') or 'no node takes it'}"
