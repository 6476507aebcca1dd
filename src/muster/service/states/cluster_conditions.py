# SPDX-License-Identifier: Apache-2.0
"""What the rows of the clusters' table ask: small questions, by name."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Final

from muster.service.states.sight import ClusterSight
from muster.service.states.stages import finalizing_timeout, is_on_top, operators_done
from muster.service.states.tally import RUNNING, is_enough

INSTALLATION: Final = timedelta(hours=24)
"""An installation that takes longer has failed."""
FINALIZING: Final = timedelta(hours=5)
_INSTALLED: Final = frozenset({"installed"})
CONDITIONS: Final[dict[str, Callable[[ClusterSight], bool]]] = {}


def _cluster(check: Callable[[ClusterSight], bool]) -> Callable[[ClusterSight], bool]:
    CONDITIONS[check.__name__.replace("_", "-")] = check
    return check


@_cluster
def inputs_given(see: ClusterSight) -> bool:
    """All that only a user can give is given."""
    return see.fitness.inputs


@_cluster
def fit(see: ClusterSight) -> bool:
    """Everything else passes that must."""
    return see.fitness.sufficient


@_cluster
def hosts_prepared(see: ClusterSight) -> bool:
    """Every host is prepared."""
    return 0 < see.tally.total == see.tally.count("preparing-successful")


@_cluster
def files_made(see: ClusterSight) -> bool:
    """What the hosts are to be given is made."""
    return see.cluster.preparation.status == "success"


@_cluster
def files_failed(see: ClusterSight) -> bool:
    """What the hosts are to be given could not be made."""
    return see.cluster.preparation.status == "failed"


@_cluster
def host_fell_out(see: ClusterSight) -> bool:
    """A host is not fit any more."""
    fine = see.tally.count("known", "preparing-for-installation", "preparing-successful", "preparing-failed")
    return fine < see.tally.total


@_cluster
def host_not_prepared(see: ClusterSight) -> bool:
    """A host could not be prepared."""
    return see.tally.count("preparing-failed") > 0


@_cluster
def time_is_up(see: ClusterSight) -> bool:
    """It waited until its deadline."""
    waiting = see.cluster.waiting
    return waiting is not None and waiting.until is not None and waiting.until <= see.draft.now


@_cluster
def enough_hosts(see: ClusterSight) -> bool:
    """Enough hosts are installed, or may yet be."""
    return is_enough(see.cluster, see.tally, RUNNING)


@_cluster
def enough_installed(see: ClusterSight) -> bool:
    """Enough hosts are installed."""
    return is_enough(see.cluster, see.tally, _INSTALLED)


@_cluster
def host_needs_user(see: ClusterSight) -> bool:
    """A host waits for somebody."""
    return see.tally.count("installing-pending-user-action") > 0


@_cluster
def all_hosts_ended(see: ClusterSight) -> bool:
    """Every host is installed, or has failed."""
    return see.tally.total == see.tally.count("installed", "error")


@_cluster
def host_failed(see: ClusterSight) -> bool:
    """A host has failed."""
    return see.tally.count("error") > 0


@_cluster
def kubeconfig_there(see: ClusterSight) -> bool:
    """Its kubeconfig is there."""
    return see.cluster.kubeconfig or see.cluster.kubeconfig_given


@_cluster
def operators_ended(see: ClusterSight) -> bool:
    """All operators are available; what was added may have failed."""
    done, of = operators_done(see.cluster)
    return done == of


@_cluster
def operator_failed(see: ClusterSight) -> bool:
    """An operator has failed."""
    return any(each.status == "failed" for each in see.cluster.monitored_operators)


@_cluster
def soft(see: ClusterSight) -> bool:
    """Timeouts are told of, but fail nothing."""
    return see.cluster.org_soft_timeouts_enabled


@_cluster
def installation_too_long(see: ClusterSight) -> bool:
    """The installation started a day ago."""
    started = see.cluster.install_started_at
    return started is not None and see.draft.now >= started + INSTALLATION


@_cluster
def finalizing_too_long(see: ClusterSight) -> bool:
    """It has been finalizing for too long."""
    return see.draft.now >= see.cluster.status_updated_at + FINALIZING


@_cluster
def stage_too_long(see: ClusterSight) -> bool:
    """Its finalizing stage takes too long."""
    progress = see.cluster.progress
    if progress.finalizing_stage is None or progress.finalizing_stage_started_at is None:
        return False
    return see.draft.now >= progress.finalizing_stage_started_at + finalizing_timeout(see.cluster)


@_cluster
def stage_on_top(see: ClusterSight) -> bool:
    """Its finalizing stage is about what is installed on top of it."""
    return is_on_top(see.cluster.progress.finalizing_stage)


@_cluster
def stage_lateness_told(see: ClusterSight) -> bool:
    """People know already that its stage takes too long."""
    return bool(see.cluster.progress.finalizing_stage_timed_out)


@_cluster
def logs_running(see: ClusterSight) -> bool:
    """Its logs are being collected."""
    return see.cluster.logs_info in ("requested", "collecting")
