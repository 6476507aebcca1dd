# SPDX-License-Identifier: Apache-2.0
"""The install-config of a cluster, as its state gives it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from muster.redact import HIDDEN
from muster.service.release_driver import ClusterOrder
from muster.service.state import Cluster, Host

_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}


def effective_role(host: Host) -> str:
    """What a host is to be: what it is told, else what suits."""
    return host.suggested_role if host.role == "auto-assign" else host.role


def render_install_config(order: ClusterOrder) -> str:
    """The file, as JSON, which is YAML too; the user's overrides are in it, and the pull secret is not."""
    body = _body(order.cluster, order.hosts)
    if order.cluster.install_config_overrides:
        body = _merge(body, json.loads(order.cluster.install_config_overrides))
    return json.dumps(body, indent=2) + "\n"


def _body(cluster: Cluster, hosts: Iterable[Host]) -> dict[str, Any]:
    roles = [effective_role(host) for host in hosts]
    architecture = _ARCHITECTURES.get(cluster.cpu_architecture, cluster.cpu_architecture)
    body: dict[str, Any] = {
        "apiVersion": "v1",
        "baseDomain": cluster.base_dns_domain,
        "metadata": {"name": cluster.name},
        "controlPlane": {
            "name": "master",
            "architecture": architecture,
            "replicas": cluster.control_plane_count,
        },
        "compute": [{"name": "worker", "architecture": architecture, "replicas": roles.count("worker")}],
        "networking": _networking(cluster),
        "platform": _platform(cluster),
        "pullSecret": HIDDEN,
        "sshKey": cluster.ssh_public_key,
    }
    if "arbiter" in roles:
        body["arbiter"] = {
            "name": "arbiter",
            "architecture": architecture,
            "replicas": roles.count("arbiter"),
        }
    if cluster.http_proxy or cluster.https_proxy:
        names = {"httpProxy": "http_proxy", "httpsProxy": "https_proxy", "noProxy": "no_proxy"}
        body["proxy"] = {key: getattr(cluster, field) for key, field in names.items()}
    return body


def _networking(cluster: Cluster) -> dict[str, Any]:
    found: dict[str, Any] = {
        "clusterNetwork": [
            {"cidr": each.cidr, "hostPrefix": each.host_prefix} for each in cluster.cluster_networks
        ],
        "serviceNetwork": [each.cidr for each in cluster.service_networks],
        "machineNetwork": [{"cidr": each.cidr} for each in cluster.machine_networks],
    }
    if cluster.network_type != "None":
        found["networkType"] = cluster.network_type
    return found


def _platform(cluster: Cluster) -> dict[str, Any]:
    kind = cluster.platform.type
    if kind != "baremetal":
        return {kind: {}}
    return {
        "baremetal": {
            "apiVIPs": [each.ip for each in cluster.api_vips],
            "ingressVIPs": [each.ip for each in cluster.ingress_vips],
            "provisioningNetwork": "Disabled",
        }
    }


def _merge(old: Any, new: Any) -> Any:
    """Objects are merged, everything else is replaced, but not by a value that asks for nothing."""
    if not isinstance(old, Mapping) or not isinstance(new, Mapping):
        return old if new in (None, "", [], {}) and old is not None else new
    return {**old, **{key: _merge(old.get(key), value) for key, value in new.items()}}
