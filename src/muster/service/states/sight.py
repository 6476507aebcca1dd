# SPDX-License-Identifier: Apache-2.0
"""What conditions see, and what becomes of a row sees, too: a host or a cluster, with all around it."""

from __future__ import annotations

import msgspec

from muster.service.realm import Draft
from muster.service.state import Cluster, Host
from muster.service.states.fitness import UNASKED, ClusterFitness, HostFitness
from muster.service.states.tally import Tally


def cluster_of(draft: Draft) -> Cluster | None:
    """The cluster of a draft; none in a pool."""
    return None if draft.is_pool else draft.cluster


class HostSight(msgspec.Struct, frozen=True):
    """What a condition of a host sees."""

    draft: Draft
    host: Host
    fitness: HostFitness = UNASKED
    stage: str = ""
    """The stage that it reports now."""
    told: str = ""
    """What else it reports, or what went wrong, in words."""

    @property
    def cluster(self) -> Cluster | None:
        """Its cluster; none in a pool."""
        return cluster_of(self.draft)


class ClusterSight(msgspec.Struct, frozen=True):
    """What a condition of a cluster sees."""

    draft: Draft
    cluster: Cluster
    tally: Tally
    fitness: ClusterFitness
    told: str = ""
