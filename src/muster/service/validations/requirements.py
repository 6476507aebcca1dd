# SPDX-License-Identifier: Apache-2.0
"""What a host needs for its role: figures from requirements.toml, and what operators and add-ons add."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib import resources
from typing import Any, Final, Literal

from muster.frozen import dataclass
from muster.model.wire.versions import (
    ClusterHostRequirementsDetails,
    HostTypeHardwareRequirements,
    HostTypeHardwareRequirementsWrapper,
    PreflightHardwareRequirements,
)
from muster.service.state import Cluster, Host
from muster.service.validations.facts import ROLE, is_single, role_of
from muster.service.validations.operators import NOTHING, OPERATORS, Extra

ROLE_FIELDS: Final = ROLE
"""Of the host, besides its inventory."""
CLUSTER_FIELDS: Final = frozenset(
    {"openshift_version", "control_plane_count", "monitored_operators", "add_ons"}
)
EDGE_PRODUCT: Final = "BlueField SoC"
_NUMBERS: Final = re.compile(r"\d+")


@dataclass(frozen=True)
class Requirement:
    """What a host of a role needs; None where nothing is asked."""

    cpu_cores: int = 0
    ram_mib: int = 0
    disk_gb: int = 0
    fsync_ms: int | None = None
    rtt_ms: int | None = None
    loss_percent: int | None = None


@dataclass(frozen=True)
class Addition:
    """What the add-ons of a cluster take of one host, besides what its role needs, and which of them do."""

    amount: int = 0
    ids: tuple[str, ...] = ()


def product_of(version: str) -> str:
    """The product that a version is one of: OpenShift counts from 4, Kubernetes is still at 1."""
    numbers = _numbers(version)
    return "kubernetes" if numbers and numbers[0] < 4 else "openshift"


@lru_cache(256)
def by_role(version: str) -> Mapping[str, Requirement]:
    """What hosts need in a version, by role; `single-node` and `edge-worker` are roles here."""
    return pick(_figures()[product_of(version)], version)


def pick(figures: Mapping[str, Any], version: str) -> Mapping[str, Requirement]:
    """The figures of a version, from the entries of a product."""
    above: Mapping[str, Any] = {}
    entries = figures.get("versions", ())
    exact = [entry for entry in entries if entry.get("version") == version]
    if exact:
        above = exact[0]
    else:
        numbers = _numbers(version)
        older = [
            (least, entry)
            for entry in entries
            if "min_version" in entry and (least := _numbers(entry["min_version"])) <= numbers
        ]
        above = max(older, key=lambda each: each[0])[1] if older else {}
    return {
        role: Requirement(**{**values, **above.get(role, {})}) for role, values in figures["default"].items()
    }


def requirement_of(host: Host, cluster: Cluster | None) -> Requirement:
    """What this host needs for its role; while it has none, what a worker needs. Without operators."""
    roles = by_role(cluster.openshift_version if cluster else "")
    role = role_of(host)
    if cluster is not None and is_single(cluster):
        return roles["single-node"]
    if role in ("master", "bootstrap"):
        return roles["master"]
    if role == "arbiter":
        return roles["arbiter"]
    vendor = host.inventory.system_vendor if host.inventory else None
    return roles["edge-worker" if vendor and vendor.product_name == EDGE_PRODUCT else "worker"]


def extra_of(host: Host, cluster: Cluster) -> Extra:
    """What the operators of the cluster need on top on this host."""
    chosen = [OPERATORS[each.name] for each in cluster.monitored_operators if each.name in OPERATORS]
    if not chosen:
        return NOTHING
    role = "master" if role_of(host) in ("master", "bootstrap") else role_of(host)
    found = [operator.needs(role, _numbers(cluster.openshift_version)) for operator in chosen]
    return Extra(cpu_cores=sum(each.cpu_cores for each in found), ram_mib=sum(each.ram_mib for each in found))


def on_top_of(
    host: Host, cluster: Cluster | None, what: Literal["cpu_millicores", "ram_mib", "disk_mib"]
) -> Addition:
    """What add-ons take of this host. Most run anywhere, so all hosts have room for them but arbiters."""
    if cluster is None or not cluster.add_ons or role_of(host) == "arbiter":
        return Addition()
    found = {each.id: amount for each in cluster.add_ons if (amount := getattr(each, what))}
    return Addition(sum(found.values()), tuple(found))


def whole_cores(millicores: int) -> int:
    """Machines have whole cores, and the figures of roles are round: less than a half is within them."""
    return (millicores + 500) // 1000


def least_of(cluster: Cluster | None) -> Requirement:
    """What a host needs to be of any use: the lesser of control plane and worker."""
    return _least(cluster.openshift_version if cluster else "")


@lru_cache(256)
def _least(version: str) -> Requirement:
    roles = by_role(version)
    pair = (roles["master"], roles["worker"])
    return Requirement(
        cpu_cores=min(each.cpu_cores for each in pair),
        ram_mib=min(each.ram_mib for each in pair),
        disk_gb=min(each.disk_gb for each in pair),
    )


def preflight_requirements(cluster: Cluster) -> PreflightHardwareRequirements:
    """What hosts need to join a cluster, as the interface shows it; what operators add is apart."""
    roles = by_role(cluster.openshift_version)
    return PreflightHardwareRequirements(
        ocp=HostTypeHardwareRequirementsWrapper(
            master=_shown(roles["single-node" if is_single(cluster) else "master"]),
            worker=_shown(roles["worker"]),
        ),
        operators=(),
    )


def _shown(requirement: Requirement) -> HostTypeHardwareRequirements:
    return HostTypeHardwareRequirements(
        quantitative=ClusterHostRequirementsDetails(
            cpu_cores=requirement.cpu_cores,
            ram_mib=requirement.ram_mib,
            disk_size_gb=requirement.disk_gb,
            installation_disk_speed_threshold_ms=requirement.fsync_ms,
            network_latency_threshold_ms=requirement.rtt_ms,
            packet_loss_percentage=requirement.loss_percent,
        ),
        qualitative=(),
    )


def _numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version up to the first sign that it is a preview."""
    return tuple(int(number) for number in _NUMBERS.findall(version.lstrip("v").partition("-")[0]))


@cache
def _figures() -> Mapping[str, Any]:
    path = resources.files("muster.service.validations").joinpath("requirements.toml")
    return tomllib.loads(path.read_text("utf-8"))
