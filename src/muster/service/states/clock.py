# SPDX-License-Identifier: Apache-2.0
"""The service's clock was put forward or back, or it was away: nobody's time runs out because of that."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec.structs import replace

from muster.service.realm import Draft
from muster.service.state import Cluster, Host, Waiting
from muster.service.states.words import span


def move_times(draft: Draft, delta: timedelta) -> None:
    """The clock jumped: what began so long ago on the old clock began so long ago on the new one."""
    for host in list(draft.hosts.values()):
        _move_enrolment(draft, host, delta)
    waiting = _who_waits(draft)
    for subject in waiting:
        if isinstance(subject, Host):
            _move_host(draft, subject, delta)
        else:
            _move_cluster(draft, subject, delta)
    if waiting:
        way = "forward" if delta > timedelta() else "back"
        what = f"The clock of the service was put {way} by {span(abs(delta))}; deadlines went with it"
        _tell(draft, "service_clock_moved", what)


def extend_waits(draft: Draft, away: timedelta) -> None:
    """The service was away: nobody could tell it anything, so that time does not count."""
    waiting = _who_waits(draft)
    for subject in waiting:
        draft.change(subject, waiting=_later(subject.waiting, away, began=timedelta()))
    if waiting:
        _tell(
            draft,
            "service_was_away",
            f"The service was away for {span(away)}, which does not count for deadlines",
        )


def _who_waits(draft: Draft) -> list[Host | Cluster]:
    hosts = [each for each in draft.hosts.values() if each.waiting is not None]
    if draft.is_pool or draft.cluster.waiting is None:
        return [*hosts]
    return [*hosts, draft.cluster]


def _move_enrolment(draft: Draft, host: Host, delta: timedelta) -> None:
    """A request and an approval are as old as before."""
    request, approval = host.enrolment_request, host.enrolment_approval
    if request is not None:
        asked, repeated = request.requested_at + delta, request.repeated_at + delta
        request = replace(request, requested_at=asked, repeated_at=repeated)
    if approval is not None:
        approval = replace(approval, given_at=approval.given_at + delta)
    draft.change(host, enrolment_request=request, enrolment_approval=approval)


def _move_host(draft: Draft, host: Host, delta: timedelta) -> None:
    progress = host.progress
    draft.change(
        host,
        status_updated_at=host.status_updated_at + delta,
        logs_started_at=_moved(host.logs_started_at, delta),
        progress=replace(
            progress,
            stage_started_at=_moved(progress.stage_started_at, delta),
            stage_updated_at=_moved(progress.stage_updated_at, delta),
        ),
        waiting=_later(host.waiting, delta, began=delta),
    )


def _move_cluster(draft: Draft, cluster: Cluster, delta: timedelta) -> None:
    progress = cluster.progress
    draft.change(
        cluster,
        status_updated_at=cluster.status_updated_at + delta,
        install_started_at=_moved(cluster.install_started_at, delta),
        controller_logs_started_at=_moved(cluster.controller_logs_started_at, delta),
        progress=replace(
            progress, finalizing_stage_started_at=_moved(progress.finalizing_stage_started_at, delta)
        ),
        waiting=_later(cluster.waiting, delta, began=delta),
    )


def _later(waiting: Waiting | None, by: timedelta, *, began: timedelta) -> Waiting | None:
    if waiting is None:
        return None
    return replace(waiting, since=waiting.since + began, until=_moved(waiting.until, by))


def _moved(moment: datetime | None, by: timedelta) -> datetime | None:
    return None if moment is None else moment + by


def _tell(draft: Draft, name: str, message: str) -> None:
    if not draft.is_pool:
        draft.tell(draft.cluster, name, message, severity="warning")
