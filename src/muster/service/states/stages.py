# SPDX-License-Identifier: Apache-2.0
"""The stages of an installation: which a host goes through, how far it is, and how long each may take."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from datetime import timedelta
from functools import cache
from importlib import resources
from typing import Any, Final

from muster.model.wire.operators import MonitoredOperator
from muster.service.state import Cluster, Host

_START: Final = ("Starting installation", "Installing")
_WRITE: Final = ("Writing image to disk", "Copying registry data to disk")
_JOIN: Final = ("Configuring", "Joined", "Done")
BOOTSTRAP: Final = (
    *_START,
    *_WRITE,
    *("Waiting for control plane", "Waiting for bootkube", "Waiting for controller", "Rebooting"),
    *_JOIN,
)
MASTER: Final = (*_START, *_WRITE, "Rebooting", *_JOIN)
WORKER: Final = (
    *_START,
    *("Writing image to disk", "Waiting for control plane", "Rebooting", "Waiting for ignition"),
    *_JOIN,
)
SINGLE: Final = (*_START, "Waiting for bootkube", *_WRITE, "Rebooting", "Joined", "Done")
ROLES: Final[Mapping[str, tuple[str, ...]]] = {
    "bootstrap": BOOTSTRAP,
    "master": MASTER,
    "arbiter": MASTER,
    "worker": WORKER,
    "single node": SINGLE,
}


def role_of(host: Host) -> str:
    """What a host is going to be: what was said, or else what was found best."""
    if host.role != "auto-assign":
        return host.role
    return host.suggested_role if host.suggested_role != "auto-assign" else "worker"


def is_single(cluster: Cluster | None) -> bool:
    """Whether one host is all of the cluster."""
    return cluster is not None and cluster.kind == "Cluster" and cluster.control_plane_count == 1


@cache
def _until_reboot(stages: tuple[str, ...]) -> tuple[str, ...]:
    """We do not see a host any more once it boots into a cluster that is not ours: then it is done."""
    return (*stages[: stages.index("Rebooting")], "Done")


def stages_of(host: Host, cluster: Cluster | None) -> tuple[str, ...]:
    """The stages that a host goes through, in order."""
    role = "bootstrap" if host.bootstrap else role_of(host)
    if cluster is not None and cluster.kind == "AddHostsCluster":
        return _until_reboot(ROLES["worker" if role == "worker" else "master"])
    return SINGLE if is_single(cluster) else ROLES[role]


def place_of(host: Host, cluster: Cluster | None) -> tuple[int, int]:
    """How many stages a host has reached, of how many."""
    stages = stages_of(host, cluster)
    stage = host.progress.current_stage
    return (stages.index(stage) + 1 if stage in stages else 0), len(stages)


def has_rebooted(host: Host) -> bool:
    """Whether the host left our medium: it does not ask us any more, and need not."""
    return host.progress.current_stage in (
        "Rebooting",
        "Waiting for ignition",
        "Configuring",
        "Joined",
        "Done",
    )


# How long


@cache
def _timeouts() -> Mapping[str, Mapping[str, Any]]:
    path = resources.files("muster.service.states").joinpath("stages.toml")
    return tomllib.loads(path.read_text("utf-8"))


def host_timeout(stage: str, cluster: Cluster | None) -> timedelta:
    """How long a host may be without a sign of life in a stage."""
    table = _timeouts()
    minutes = table["host"][stage]
    if is_single(cluster):
        minutes = table["single"].get(stage, minutes)
    return timedelta(minutes=minutes)


def usual_seconds(stage: str) -> int:
    """How long a stage usually takes on machines of today; a guess, which nothing depends on."""
    seconds: int = _timeouts()["usual"].get(stage, 0)
    return seconds


def is_paused(host: Host, cluster: Cluster | None) -> bool:
    """Whether the clock of a host's stage stands still, because another host waits for somebody."""
    if cluster is None or cluster.status != "installing-pending-user-action":
        return False
    return host.status == "installing-in-progress" and pauses(host.progress.current_stage)


def pauses(stage: str | None) -> bool:
    """Whether a stage waits for other hosts."""
    return stage in _timeouts()["paused"]["stages"]


def is_on_top(stage: str | None) -> bool:
    """Whether a finalizing stage is about what is installed on top of the cluster."""
    return stage in _timeouts()["on_top"]["stages"]


def finalizing_timeout(cluster: Cluster) -> timedelta:
    """How long the cluster may be in its finalizing stage; operators may ask for longer."""
    table, stage = _timeouts(), cluster.progress.finalizing_stage or "Done"
    minutes = table["finalizing"][stage]
    if cluster.org_soft_timeouts_enabled:
        minutes = table["finalizing_soft"].get(stage, minutes)
    span = timedelta(minutes=minutes)
    if is_on_top(stage):
        asked = [each.timeout_seconds or 0 for each in cluster.monitored_operators if _is_added(each)]
        span = max([span, *(timedelta(seconds=seconds) for seconds in asked)])
    return span


def _is_added(operator: MonitoredOperator) -> bool:
    return operator.operator_type == "olm"


# How far


def host_percent(host: Host, cluster: Cluster | None) -> int:
    """How much of its own stages a host has reached."""
    reached, of = place_of(host, cluster)
    return reached * 100 // of


def operators_done(cluster: Cluster) -> tuple[int, int]:
    """How many operators are done, of how many: what was added may have failed and is done, too."""
    done = sum(
        each.status == "available" or (each.status == "failed" and _is_added(each))
        for each in cluster.monitored_operators
    )
    return done, len(cluster.monitored_operators)
