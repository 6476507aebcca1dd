# SPDX-License-Identifier: Apache-2.0
"""Until when what is derived may still change."""

from __future__ import annotations

from typing import Final

from muster.service.state import Cluster, Host

HOST_OPEN: Final = frozenset(
    {
        *("discovering", "known", "disconnected", "insufficient", "pending-for-input", "binding"),
        *("discovering-unbound", "known-unbound", "disconnected-unbound", "insufficient-unbound"),
    }
)
"""Nothing of such a host is settled yet."""
CLUSTER_OPEN: Final = frozenset({"insufficient", "pending-for-input", "ready", "adding-hosts"})


def is_open(host: Host) -> bool:
    """Whether what a host is to become may still change."""
    return host.status in HOST_OPEN


def is_cluster_open(cluster: Cluster) -> bool:
    """Whether what a cluster is to become may still change."""
    return cluster.status in CLUSTER_OPEN


def is_single_node(cluster: Cluster) -> bool:
    """Whether its only host is all of it."""
    return cluster.control_plane_count == 1


def is_given(reason: str) -> bool:
    """Whether a person decided this: then there is no reason to tell, or just that."""
    return reason in ("", "given")
