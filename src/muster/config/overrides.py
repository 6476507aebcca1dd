# SPDX-License-Identifier: Apache-2.0
"""Plan → the annotation of AgentClusterInstall that carries parts of install-config.yaml.

The service that reads it refuses the whole annotation for one key that it does not know. What it knows is
less than what install-config.yaml can say, so the rest is left out, and told.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from muster.frozen import dataclass
from muster.model.dump import dump
from muster.model.manifests.agent_cluster_install import NetworkType
from muster.model.plan import HostPlan, Plan
from muster.model.tree import Plain

Path: TypeAlias = tuple[str | int, ...]
_Shape: TypeAlias = "Mapping[str, _Shape] | None"


def _values(keys: str) -> dict[str, _Shape]:
    return dict.fromkeys(keys.split())


_POOL: Final = _values("name replicas hyperthreading")
_ENDPOINT: Final = {"endpoint": _values("address port")}
_VIPS: Final = _values("apiVIPs ingressVIPs")
KNOWN: Final[Mapping[str, _Shape]] = {
    **_values("fips cpuPartitioningMode additionalTrustBundlePolicy featureSet featureGates osImageStream"),
    "capabilities": _values("baselineCapabilitySet additionalEnabledCapabilities"),
    "networking": {
        **_values("networkType serviceNetwork"),
        "clusterNetwork": _values("cidr hostPrefix"),
        "machineNetwork": _values("cidr"),
    },
    "controlPlane": {
        **_POOL,
        "fencing": {
            "credentials": _values("hostName macAddress address username password certificateVerification")
        },
    },
    "arbiter": _POOL,
    "compute": _POOL,
    "platform": {
        "baremetal": {
            **_VIPS,
            **_values("provisioningNetwork provisioningNetworkInterface provisioningNetworkCIDR"),
            **_values("provisioningDHCPRange clusterProvisioningIP additionalNTPServers"),
            "loadBalancer": _values("type"),
            "hosts": {
                **_values("name role bootMACAddress bootMode hardwareProfile"),
                "bmc": _values("address username password disableCertificateVerification"),
            },
        },
        "vsphere": {
            **_VIPS,
            "vcenters": _values("server port user password datacenters"),
            "failureDomains": {
                **_values("name region zone server"),
                "topology": _values("computeCluster datacenter datastore folder networks resourcePool"),
            },
        },
        "nutanix": {
            **_VIPS,
            "prismCentral": {**_ENDPOINT, **_values("username password")},
            "prismElements": {**_ENDPOINT, **_values("uuid name")},
            **_values("subnetUUIDs"),
        },
        "external": _values("platformName cloudControllerManager"),
    },
}
"""What assisted-service's internal/installcfg has fields for; lists have the shape of their items."""


@dataclass(frozen=True)
class Overrides:
    """What the annotation says, and the settings that it cannot carry."""

    body: dict[str, Any]
    left_out: tuple[Path, ...]


def overrides_of(plan: Plan) -> Overrides:
    """What the objects have no fields for travels as a part of install-config.yaml."""
    said: dict[str, Any] = json.loads(json.dumps(dict(plan.settings)))
    section = _platform_section(plan)
    if section:
        platform = said.setdefault("platform", {}).setdefault(plan.platform, {})
        platform |= section
    if not is_known_type(plan):
        said["networking"] = networking_of(plan, plan.networks.type) | said.get("networking", {})
    left_out: list[Path] = []
    body = _known_part(said, KNOWN, (), left_out)
    assert isinstance(body, dict)
    body.pop("compute", None)  # Their number stands in provisionRequirements, and the rest is left out.
    return Overrides(body, tuple(left_out))


def is_known_type(plan: Plan) -> bool:
    """Whether AgentClusterInstall itself can name the network plugin."""
    return plan.networks.type in tuple(NetworkType)


def networking_of(plan: Plan, network_type: str) -> dict[str, Any]:
    """The networks, as install-config.yaml and AgentClusterInstall write them."""
    networks = plan.networks
    return {
        "clusterNetwork": [
            {"cidr": str(each.cidr), "hostPrefix": each.host_prefix} for each in networks.cluster
        ],
        "machineNetwork": [{"cidr": str(each)} for each in networks.machine],
        "networkType": network_type,
        "serviceNetwork": [str(each) for each in networks.service],
    }


def _platform_section(plan: Plan) -> dict[str, Any]:
    """What the plan has fields for, and the platform's section needs all the same."""
    if plan.platform == "baremetal":
        hosts = [_baremetal_host(host) for host in plan.hosts if host.bmc or _is_listed(host)]
        return {"hosts": hosts} if hosts else {}
    if plan.platform == "nutanix" or (plan.platform == "vsphere" and len(plan.api_vips) > 1):
        return {
            "apiVIPs": [str(ip) for ip in plan.api_vips],
            "ingressVIPs": [str(ip) for ip in plan.ingress_vips],
        }
    return {}


def _is_listed(host: HostPlan) -> bool:
    return host.in_install_config is not None


def _baremetal_host(host: HostPlan) -> dict[str, Any]:
    body: dict[str, Any] = {"name": host.hostname, "role": str(host.role)}
    if host.cards:
        body["bootMACAddress"] = host.cards[0].mac_address
    if host.bmc:
        body["bmc"] = dump(host.bmc)
    if host.in_install_config is not None:
        body |= host.in_install_config
        if host.disk is not None:
            body["rootDeviceHints"] = dump(host.disk)
    return body


def _known_part(value: Plain, shape: _Shape, path: Path, left_out: list[Path]) -> Plain:
    """A value without the keys that its shape does not have; these are noted."""
    if shape is None:
        return value
    if isinstance(value, list):
        return [_known_part(item, shape, (*path, index), left_out) for index, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    kept: dict[str, Plain] = {}
    for key, child in value.items():
        if key not in shape:
            left_out.append((*path, key))
            continue
        part = _known_part(child, shape[key], (*path, key), left_out)
        if part not in ({}, []):
            kept[key] = part
    return kept
