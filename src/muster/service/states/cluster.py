# SPDX-License-Identifier: Apache-2.0
"""What happens to a cluster: each trigger of the clusters' table as a function on a draft.

Every change of a state has a text, a time, an event, and what is waited for next.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from muster.model.wire.cluster import ClusterProgressInfo, LastInstallationPreparation
from muster.service.realm import Draft, Severity
from muster.service.refusals import StateConflict
from muster.service.state import Cluster
from muster.service.states import host as hosts
from muster.service.states.cluster_conditions import FINALIZING, INSTALLATION
from muster.service.states.cluster_effects import EFFECTS, unprepared
from muster.service.states.cluster_table import CLUSTERS
from muster.service.states.fitness import ClusterFitness
from muster.service.states.percentages import cluster_percentages
from muster.service.states.sight import ClusterSight, HostSight
from muster.service.states.stages import finalizing_timeout, pauses
from muster.service.states.table import Row, Trigger
from muster.service.states.tally import tally_of
from muster.service.states.waits import cluster_waiting
from muster.service.states.words import Words, cluster_words, missing, span

_UNASKED: Final = ClusterFitness(inputs=False, sufficient=False)
_SEVERITIES: Final[dict[str, Severity]] = {
    "error": "error",
    "installing-pending-user-action": "warning",
}
_STARTED: Final = frozenset(
    {
        *("installing", "installing-in-progress", "installing-pending-user-action"),
        *("installed", "error", "cancelled"),
    }
)
"""States of hosts whose disks may have been written: after a reset they boot the medium again."""


def fire(draft: Draft, trigger: Trigger, fitness: ClusterFitness = _UNASKED, told: str = "") -> Row | None:
    """Take the first row that fits; none: nothing fits and nothing happened."""
    cluster = draft.cluster
    see = ClusterSight(draft, cluster, tally_of(draft), fitness, told)
    row = CLUSTERS.find(trigger, cluster.status, see)
    if row is not None:
        _take(see, row)
    return row


def _take(see: ClusterSight, row: Row) -> None:
    draft, cluster = see.draft, see.cluster
    text = row.reason or cluster.status_info
    if "{" in row.reason:
        text = row.reason.format_map(_words(see, row))
    for name in row.also.split():
        EFFECTS[name](see, text)
    if row.to and row.to != cluster.status:
        _set_status(draft, cluster, row.to, text)
    else:
        draft.change(cluster, status_info=text)


def _set_status(draft: Draft, cluster: Cluster, status: str, text: str) -> None:
    draft.change(cluster, status=status, status_info=text, status_updated_at=draft.now, updated_at=draft.now)
    message = f"Cluster {cluster.name}: updated status from {cluster.status} to {status} ({text})"
    draft.tell(
        cluster,
        "cluster_status_updated",
        message,
        severity=_SEVERITIES.get(status, "info"),
        src_status=cluster.status,
        new_status=status,
    )
    if cluster.status == "installing-pending-user-action":
        _resume_clocks(draft, cluster.status_updated_at)


def _resume_clocks(draft: Draft, since: datetime) -> None:
    """Clocks of stages that stood still, because a host waited for somebody, go on."""
    for host in list(draft.hosts.values()):
        waiting, progress = host.waiting, host.progress
        if waiting is None or waiting.until is None or waiting.kind != "stage":
            continue
        if pauses(progress.current_stage):
            stood = draft.now - max(since, progress.stage_updated_at or since)
            draft.change(host, waiting=msgspec.structs.replace(waiting, until=waiting.until + stood))


def _words(see: ClusterSight, row: Row) -> Words:
    cluster, tally, waiting = see.cluster, see.tally, see.cluster.waiting
    words = cluster_words(cluster)
    if "{missing}" in row.reason:
        words["missing"] = missing(cluster.verdicts, see.fitness.failing)
    if "{unprepared}" in row.reason:
        words["unprepared"] = unprepared(see)
    if "{stage_span}" in row.reason:
        words["stage_span"] = span(finalizing_timeout(cluster))
    if waiting is not None and waiting.until is not None:
        words["span"] = span(waiting.until - waiting.since)
    fine = tally.count("known", "preparing-for-installation", "preparing-successful", "preparing-failed")
    words.update(
        told=see.told or "no reason was given",
        hosts=tally.total,
        pending=tally.count("installing-pending-user-action"),
        failed=tally.count("error"),
        fallen=tally.total - fine,
        day=span(INSTALLATION),
        hours=span(FINALIZING),
    )
    return words


def _settle(draft: Draft) -> None:
    """Note how far the cluster is, and what it waits for now."""
    cluster = draft.cluster
    progress = cluster_percentages(cluster, tally_of(draft))
    draft.change(cluster, progress=progress, waiting=cluster_waiting(cluster))


def _need(draft: Draft, trigger: Trigger, verb: str, hint: str, told: str = "") -> Cluster:
    """Something that only some states allow."""
    cluster = draft.cluster
    if fire(draft, trigger, told=told) is None:
        raise StateConflict(f"cluster {cluster.name} is {cluster.status} and cannot be {verb}", hint=hint)
    _settle(draft)
    return draft.cluster


# What people do


def prepare(draft: Draft) -> Cluster:
    """The installation is to start. Hosts follow by themselves."""
    cluster = draft.cluster
    if cluster.status in ("insufficient", "pending-for-input"):
        raise StateConflict(
            f"cluster {cluster.name} is not ready to install: {cluster.status_info}",
            hint="mend what its validations say, then start again",
        )
    return _need(draft, "prepare", "installed", "only a cluster that is ready can be")


def cancel(draft: Draft) -> Cluster:
    """The installation is stopped, on all hosts."""
    _need(draft, "cancel", "cancelled", "only an installation that runs or failed can be")
    for host in list(draft.hosts.values()):
        hosts.cancel(draft, host)
    return draft.cluster


def reset(draft: Draft) -> Cluster:
    """The cluster starts over; hosts that began have to boot the medium again."""
    _need(draft, "reset", "reset", "only an installation that runs, failed or was cancelled can be")
    for host in list(draft.hosts.values()):
        if host.status in _STARTED:
            hosts.reset(draft, host)
    return draft.cluster


def transform_to_day2(draft: Draft) -> Cluster:
    """Hosts can be added to a cluster that is installed."""
    _need(draft, "transform", "given more hosts", "wait until it is installed")
    for host in list(draft.hosts.values()):
        hosts.fire(draft, "transform", HostSight(draft, host))
        draft.change(host, kind="AddToExistingClusterHost")
    return draft.cluster


# What preparing and the cluster's controller report


def preparation_ended(draft: Draft, failure: str = "") -> Cluster:
    """What the hosts are to be given was made, or could not be."""
    new = LastInstallationPreparation(status="failed" if failure else "success", reason=failure)
    draft.change(draft.cluster, preparation=new)
    return draft.cluster


def complete(draft: Draft, success: bool, why: str = "") -> Cluster:
    """The controller says that it is done. Whether the cluster is installed is decided from what is known."""
    if success:
        if draft.cluster.status not in ("finalizing", "installed", "adding-hosts"):
            raise StateConflict(
                f"cluster {draft.cluster.name} is {draft.cluster.status} and cannot be complete",
                hint="report completion when its hosts are installed",
            )
        return draft.cluster
    return _need(draft, "fail", "reported as failed", "report failures while it is installed", why)


def finalizing_stage(draft: Draft, stage: str) -> Cluster:
    """How far the cluster is with coming up. The same again is nothing new."""
    cluster, before = draft.cluster, draft.cluster.progress
    if before.finalizing_stage == stage:
        return cluster
    if cluster.status not in ("finalizing", "installing-pending-user-action"):
        raise StateConflict(
            f"cluster {cluster.name} is {cluster.status}, not finalizing", hint="report stages while it is"
        )
    new = ClusterProgressInfo(
        total_percentage=before.total_percentage,
        preparing_for_installation_stage_percentage=before.preparing_for_installation_stage_percentage,
        installing_stage_percentage=before.installing_stage_percentage,
        finalizing_stage_percentage=before.finalizing_stage_percentage,
        finalizing_stage=stage,  # type: ignore[arg-type]  # the edge lets no other through
        finalizing_stage_started_at=draft.now,
    )
    draft.change(cluster, progress=new)
    message = f"Cluster {cluster.name}: {stage}"
    draft.tell(cluster, "cluster_finalizing_stage_updated", message, finalizing_stage=stage)
    _settle(draft)
    return draft.cluster


def logs(draft: Draft, state: str) -> Cluster:
    """How far the controller is with the cluster's logs: requested, collecting, completed."""
    values: dict[str, object] = {"logs_info": state}
    if state in ("requested", "collecting") and draft.cluster.controller_logs_started_at is None:
        values["controller_logs_started_at"] = draft.now
    if state == "completed":
        values["controller_logs_collected_at"] = draft.now
    draft.change(draft.cluster, **values)
    _settle(draft)
    return draft.cluster


# What follows


def refresh(draft: Draft, fitness: ClusterFitness) -> bool:
    """Bring a cluster's state up to what is known; whether it is another one then.

    One row at a time: hosts may have to follow before the next one fits.
    """
    before = draft.cluster.status
    fire(draft, "refresh", fitness)
    _settle(draft)
    return draft.cluster.status != before
