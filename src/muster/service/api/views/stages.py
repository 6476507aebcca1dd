# SPDX-License-Identifier: Apache-2.0
"""The stages that a host goes through while it is installed, by its role."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from muster.model.wire.enums import HostStage
from muster.service.state import Cluster, Host

Stages: TypeAlias = tuple[HostStage, ...]

_BEGIN: Final[Stages] = ("Starting installation", "Installing")
_WRITE: Final[Stages] = ("Writing image to disk", "Copying registry data to disk")
_END: Final[Stages] = ("Rebooting", "Configuring", "Joined", "Done")

SINGLE_NODE: Final[Stages] = (*_BEGIN, "Waiting for bootkube", *_WRITE, "Rebooting", "Joined", "Done")
BOOTSTRAP: Final[Stages] = (
    *(*_BEGIN, *_WRITE),
    *("Waiting for control plane", "Waiting for bootkube", "Waiting for controller"),
    *_END,
)
BY_ROLE: Final[Mapping[str, Stages]] = {
    "bootstrap": BOOTSTRAP,
    "master": (*_BEGIN, *_WRITE, *_END),
    "arbiter": (*_BEGIN, *_WRITE, *_END),
    "worker": (
        *_BEGIN,
        *("Writing image to disk", "Waiting for control plane", "Rebooting", "Waiting for ignition"),
        *("Configuring", "Joined", "Done"),
    ),
}


def stages_of(host: Host, cluster: Cluster | None) -> Stages:
    """The stages of a host, in order; nothing as long as its role is open.

    A host that joins a cluster later is out of sight when it has rebooted, and counts as done.
    """
    if cluster is None:
        return ()
    role = host.suggested_role if host.role == "auto-assign" else host.role
    stages = BY_ROLE.get("bootstrap" if host.bootstrap else role, ())
    if cluster.control_plane_count == 1 and role != "worker":
        stages = SINGLE_NODE if stages else ()
    if host.kind == "AddToExistingClusterHost" and stages:
        return (*stages[: stages.index("Rebooting") + 1], "Done")
    return stages
