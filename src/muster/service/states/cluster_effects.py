# SPDX-License-Identifier: Apache-2.0
"""What else happens when a row of the clusters' table is taken: small changes, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from muster.model.wire.cluster import ClusterProgressInfo, LastInstallationPreparation
from muster.service.states.sight import ClusterSight
from muster.service.states.stages import finalizing_timeout
from muster.service.states.words import name_of, span

EFFECTS: Final[dict[str, Callable[[ClusterSight, str], None]]] = {}
"""Each gets the new state's text, too."""
_MOST: Final = 3


def _effect(make: Callable[[ClusterSight, str], None]) -> Callable[[ClusterSight, str], None]:
    EFFECTS[make.__name__.replace("_", "-")] = make
    return make


@_effect
def begin(see: ClusterSight, _text: str) -> None:
    """An installation starts: nothing of an earlier one counts."""
    see.draft.change(
        see.cluster,
        install_started_at=see.draft.now,
        install_completed_at=None,
        preparation=LastInstallationPreparation(status="not_started"),
        progress=ClusterProgressInfo(total_percentage=0),
        kubeconfig=False,
        logs_info="",
        controller_logs_started_at=None,
        controller_logs_collected_at=None,
    )
    see.draft.tell(
        see.cluster,
        "cluster_prepare_installation_started",
        f"Cluster {see.cluster.name}: preparing to install",
    )


@_effect
def start_over(see: ClusterSight, _text: str) -> None:
    """Nothing of the installation is left but what was asked for."""
    see.draft.change(
        see.cluster,
        install_started_at=None,
        install_completed_at=None,
        preparation=LastInstallationPreparation(status="not_started"),
        progress=ClusterProgressInfo(total_percentage=0),
        kubeconfig=False,
        openshift_cluster_id="",
        logs_info="",
        controller_logs_started_at=None,
        controller_logs_collected_at=None,
    )
    see.draft.tell(see.cluster, "cluster_installation_reset", f"Cluster {see.cluster.name}: reset")


@_effect
def tell_cancelled(see: ClusterSight, _text: str) -> None:
    """People learn that somebody stopped it."""
    see.draft.tell(
        see.cluster, "cluster_installation_canceled", f"Cluster {see.cluster.name}: installation cancelled"
    )


@_effect
def become_day_2(see: ClusterSight, _text: str) -> None:
    """From now on hosts are added to it one by one."""
    see.draft.change(see.cluster, kind="AddHostsCluster")


@_effect
def tell_failed(see: ClusterSight, text: str) -> None:
    """People learn that it failed."""
    see.draft.change(see.cluster, install_completed_at=see.draft.now)
    message = f"Cluster {see.cluster.name}: installation failed: {text}"
    see.draft.tell(see.cluster, "cluster_installation_failed", message, severity="critical")


@_effect
def finish(see: ClusterSight, text: str) -> None:
    """It is there."""
    see.draft.change(see.cluster, install_completed_at=see.draft.now)
    message = f"Cluster {see.cluster.name}: {text}"
    see.draft.tell(see.cluster, "cluster_installation_completed", message)


@_effect
def tell_not_prepared(see: ClusterSight, text: str) -> None:
    """People learn that the installation did not begin."""
    message = f"Cluster {see.cluster.name}: {text}"
    see.draft.tell(see.cluster, "prepare_installation_failed", message, severity="warning")


@_effect
def note_unprepared(see: ClusterSight, text: str) -> None:
    """Why it did not begin stays known until the next attempt."""
    see.draft.change(see.cluster, preparation=LastInstallationPreparation(status="failed", reason=text))


@_effect
def note_late(see: ClusterSight, text: str) -> None:
    """Why it did not begin stays known until the next attempt."""
    note_unprepared(see, text)
    message = f"Cluster {see.cluster.name}: preparing took too long"
    see.draft.tell(see.cluster, "installation_preparing_timed_out", message, severity="warning")


@_effect
def tell_lateness(see: ClusterSight, _text: str) -> None:
    """People learn that its stage takes too long."""
    progress = see.cluster.progress
    see.draft.change(see.cluster, progress=msgspec.structs.replace(progress, finalizing_stage_timed_out=True))
    late = span(finalizing_timeout(see.cluster))
    message = f"Cluster {see.cluster.name}: the stage {progress.finalizing_stage} takes longer than {late}"
    see.draft.tell(see.cluster, "finalizing_stage_timeout", message, severity="warning")


@_effect
def end_logs(see: ClusterSight, _text: str) -> None:
    """Its logs will not come."""
    see.draft.change(see.cluster, logs_info="timeout")
    message = f"Cluster {see.cluster.name}: the logs of its controller did not arrive in time"
    see.draft.tell(see.cluster, "cluster_logs_timed_out", message, severity="warning")


def unprepared(see: ClusterSight) -> str:
    """Which hosts could not be prepared, and why. It walks over all hosts; this happens once."""
    found = [each for each in see.draft.hosts.values() if each.status == "preparing-failed"]
    said = [f"{name_of(each)}: {each.status_info}" for each in found[:_MOST]]
    if len(found) > _MOST:
        said.append(f"and {len(found) - _MOST} more")
    return "; ".join(said)
