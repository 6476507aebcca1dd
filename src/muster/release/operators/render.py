# SPDX-License-Identifier: Apache-2.0
"""Operators → manifests: what the cluster is given at its installation, and what when an operator runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from string import Template
from typing import Any, Final

from muster.config.manifests import render_yaml
from muster.frozen import dataclass
from muster.release.operators.model import Choice, Namespace, Operator, Piece

_MARKETPLACE: Final = "openshift-marketplace"
_MONITORED: Final = {"openshift.io/cluster-monitoring": "true"}
_READERS: Final = {
    "apiGroups": [""],
    "resources": ["services", "endpoints", "pods"],
    "verbs": ["get", "list", "watch"],
}


@dataclass(frozen=True)
class Rendered:
    """The manifests of operators."""

    install: tuple[tuple[str, str], ...]
    """For the folder of extra manifests, by file name."""
    post_install: tuple[tuple[str, str], ...]
    """To be applied when the operator with this id has been installed, in this order."""


def render_operators(chosen: Iterable[Operator], choice: Choice) -> Rendered:
    """The manifests of all operators of a cluster, which are in the order that they need each other in."""
    found = tuple(chosen)
    choice = replace(choice, operators=frozenset(each.id for each in found))
    install: dict[str, str] = {}
    grouped: set[str] = set()
    for each in found:
        install |= _namespace(each, grouped)
        install[f"50_{each.id}_subscription.yaml"] = render_yaml(_subscription(each))
        install |= {piece.file: _text(piece, choice) for piece in each.manifests if piece.when.holds(choice)}
    after = [
        (each.id, _text(piece, choice))
        for each in found
        for piece in each.post_install
        if piece.when.holds(choice)
    ]
    return Rendered(tuple(sorted(install.items())), tuple(after))


def _namespace(operator: Operator, grouped: set[str]) -> dict[str, str]:
    """A namespace and its operator group, once for all who share them: a second group would break it."""
    where = operator.namespace
    if where.is_there or where.name in grouped:
        return {}
    grouped.add(where.name)
    files = {f"50_{operator.id}_namespace.yaml": render_yaml(_namespace_object(where))}
    if where.is_monitored:
        for name, body in _monitoring(where.name).items():
            files[f"50_{operator.id}_monitoring_{name}.yaml"] = render_yaml(body)
    if operator.group is not None:
        spec = {"targetNamespaces": list(operator.group.targets)} if operator.group.targets else {}
        body = _object("operators.coreos.com/v1", "OperatorGroup", operator.group.name, where.name)
        files[f"50_{operator.id}_group.yaml"] = render_yaml({**body, "spec": spec})
    return files


def _namespace_object(where: Namespace) -> dict[str, Any]:
    body = _object("v1", "Namespace", where.name)
    if where.is_monitored:
        body["metadata"]["labels"] = dict(_MONITORED)
    return body


def _monitoring(namespace: str) -> dict[str, dict[str, Any]]:
    """What lets the cluster's monitoring find the endpoints of a namespace."""
    name = f"{namespace}-prometheus-k8s"
    group = "rbac.authorization.k8s.io"
    role = _object(f"{group}/v1", "Role", name, namespace)
    binding = _object(f"{group}/v1", "RoleBinding", name, namespace)
    account = {"kind": "ServiceAccount", "name": "prometheus-k8s", "namespace": "openshift-monitoring"}
    return {
        "role": {**role, "rules": [_READERS]},
        "binding": {
            **binding,
            "roleRef": {"apiGroup": group, "kind": "Role", "name": name},
            "subjects": [account],
        },
    }


def _subscription(operator: Operator) -> dict[str, Any]:
    wanted = operator.subscription
    spec = {"name": wanted.package, "source": wanted.source, "sourceNamespace": _MARKETPLACE}
    if wanted.channel:
        spec["channel"] = wanted.channel
    spec["installPlanApproval"] = "Automatic"
    body = _object("operators.coreos.com/v1alpha1", "Subscription", wanted.name, operator.namespace.name)
    return {**body, "spec": spec}


def _object(api_version: str, kind: str, name: str, namespace: str = "") -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _text(piece: Piece, choice: Choice) -> str:
    return Template(piece.manifest.lstrip("\n")).substitute(disks=choice.spare_disks)
