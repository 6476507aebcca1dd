# SPDX-License-Identifier: Apache-2.0
"""How far a cluster is, in percent."""

from __future__ import annotations

from typing import Final

from muster.model.wire.cluster import ClusterProgressInfo
from muster.service.state import Cluster
from muster.service.states.stages import operators_done
from muster.service.states.tally import Tally

# Together they are 1: a cluster whose last operator is done is at 100 %.
PREPARING_WEIGHT: Final = 0.1
INSTALLING_WEIGHT: Final = 0.7
FINALIZING_WEIGHT: Final = 0.2


def cluster_percentages(cluster: Cluster, tally: Tally) -> ClusterProgressInfo:
    """How far a cluster is: from sums over its hosts, at the same cost with one host and with many."""
    preparing = installing = finalizing = 0.0
    match cluster.status:
        case "preparing-for-installation":
            preparing = _share(tally.count("preparing-successful"), tally.total)
        case "installing" | "installing-pending-user-action" | "finalizing":
            preparing, installing = 1.0, _share(tally.reached, tally.stages)
            if cluster.status == "finalizing" or cluster.progress.finalizing_stage:
                finalizing = _share(*operators_done(cluster))
        case "installed":
            preparing = installing = finalizing = 1.0
        case _:
            return cluster.progress
    total = PREPARING_WEIGHT * preparing + INSTALLING_WEIGHT * installing + FINALIZING_WEIGHT * finalizing
    return ClusterProgressInfo(
        total_percentage=_percent(total),
        preparing_for_installation_stage_percentage=_percent(preparing),
        installing_stage_percentage=_percent(installing),
        finalizing_stage_percentage=_percent(finalizing),
        finalizing_stage=cluster.progress.finalizing_stage,
        finalizing_stage_started_at=cluster.progress.finalizing_stage_started_at,
        finalizing_stage_timed_out=cluster.progress.finalizing_stage_timed_out,
    )


def _share(part: int, of: int) -> float:
    return part / of if of else 0.0


def _percent(share: float) -> int:
    """Rounded down, but not by what floats lose."""
    return int(share * 100 + 1e-9)
