# SPDX-License-Identifier: Apache-2.0
"""What a state waits for, since when, until when, and what to do. The sentences are in waits.toml."""

from __future__ import annotations

import tomllib
from datetime import datetime, timedelta
from functools import cache
from importlib import resources
from typing import Final, Literal, TypeAlias

import msgspec

from muster.frozen import dataclass
from muster.model.host_key import fingerprint
from muster.service.state import Cluster, Host, Waiting
from muster.service.states.cluster_conditions import INSTALLATION
from muster.service.states.stages import finalizing_timeout, has_rebooted, host_timeout
from muster.service.states.words import cluster_words, host_words
from muster.units import parse_span

Who: TypeAlias = Literal["user", "host", "network", "service"]


@dataclass(frozen=True)
class Wait:
    """One thing that is waited for."""

    within: timedelta
    who: Who
    """Who can do something about it."""
    reason: str
    action: str
    proof: str
    """A command that shows whether it is so."""
    ignored: str
    """What happens when nobody does anything."""


@cache
def waits() -> dict[str, dict[str, Wait]]:
    """What is waited for, of hosts and of clusters, by kind: a state, mostly."""
    path = resources.files("muster.service.states").joinpath("waits.toml")
    return {
        of: {
            kind: Wait(**{**entry, "within": parse_span(entry["within"])}) for kind, entry in entries.items()
        }
        for of, entries in tomllib.loads(path.read_text("utf-8")).items()
    }


_RUNNING: Final = frozenset({"installing", "installing-pending-user-action", "finalizing"})
"""Nobody is reminded of these: they end."""
_LOGS: Final = frozenset({"completed", "timeout"})


def host_waiting(host: Host, cluster: Cluster | None) -> Waiting | None:
    """What a host waits for."""
    kind, since, counted = host.status, host.status_updated_at, host.status_updated_at
    if kind == "installing-in-progress":
        kind, since = "stage", host.progress.stage_started_at or since
        counted = host.progress.stage_updated_at or since
    elif kind in ("error", "cancelled") and host.logs_info not in _LOGS:
        collecting = host.logs_info == "collecting" and host.logs_started_at is not None
        kind = "logs-collecting" if collecting else "logs-pending"
        since = counted = host.logs_started_at if collecting and host.logs_started_at else since
    stage = host.progress.current_stage
    if kind in ("installing", "stage") and host.silent and not has_rebooted(host):
        kind = "lost"
    request, approval = host.enrolment_request, host.enrolment_approval
    if request is not None and (approval is None or approval.key != fingerprint(request.key)):
        kind = "enrolment"
    wait = waits()["host"].get(kind)
    if wait is None:
        return None
    within = host_timeout(stage, cluster) if kind in ("stage", "lost", "enrolment") and stage else wait.within
    words = host_words(host, cluster)
    fresh = Waiting(
        kind=kind,
        since=since,
        until=counted + within,
        reason=wait.reason.format_map(words),
        action=wait.action.format_map(words),
    )
    return _keep_extension(host.waiting, fresh)


def cluster_waiting(cluster: Cluster) -> Waiting | None:
    """What a cluster waits for."""
    kind, since = cluster.status, cluster.status_updated_at
    if kind in ("error", "cancelled", "installed") and cluster.logs_info in ("requested", "collecting"):
        started = cluster.controller_logs_started_at
        collecting = cluster.logs_info == "collecting" and started is not None
        kind = "logs-collecting" if collecting else "logs-pending"
        since = started if collecting and started is not None else since
    wait = waits()["cluster"].get(kind)
    if wait is None:
        return None
    words = cluster_words(cluster)
    fresh = Waiting(
        kind=kind,
        since=since,
        until=_cluster_deadline(cluster, kind, since + wait.within),
        reason=wait.reason.format_map(words),
        action=wait.action.format_map(words),
    )
    return fresh if kind in _RUNNING else _keep_extension(cluster.waiting, fresh)


def _cluster_deadline(cluster: Cluster, kind: str, until: datetime) -> datetime:
    """The first of all deadlines that a cluster has at the same time."""
    if kind not in _RUNNING:
        return until
    deadlines = [(cluster.install_started_at or cluster.status_updated_at) + INSTALLATION]
    if kind == "finalizing":
        if not cluster.org_soft_timeouts_enabled:
            deadlines.append(until)
        progress = cluster.progress
        if progress.finalizing_stage_started_at is not None and not progress.finalizing_stage_timed_out:
            deadlines.append(progress.finalizing_stage_started_at + finalizing_timeout(cluster))
    return min(deadlines)


def _keep_extension(old: Waiting | None, fresh: Waiting) -> Waiting:
    """A deadline that was moved, because people were reminded or a clock stood still, stays moved."""
    same = old is not None and (old.kind, old.since) == (fresh.kind, fresh.since)
    if not same or old is None or old.until is None or fresh.until is None or old.until <= fresh.until:
        return fresh
    return msgspec.structs.replace(fresh, until=old.until)
