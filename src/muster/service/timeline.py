# SPDX-License-Identifier: Apache-2.0
"""Which stage of its installation each host was in and when, what is usual, and what takes longer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Final

from muster.model.wire.struct import Wire, about
from muster.service.derive.roles import effective_role
from muster.service.realm import Event
from muster.service.state import Cluster, Host
from muster.service.states.stages import host_timeout, stages_of, usual_seconds
from muster.service.states.words import name_of

PROGRESS: Final = "host_install_progress_updated"
_SLOW: Final = 2.0
"""So many times the usual is slow."""
_END: Final = "Done"


class StageSpan(Wire, frozen=True, kw_only=True):
    """A stage, from when to when."""

    stage: str
    started_at: datetime | None = None
    """Not set: it is still to come."""
    ended_at: datetime | None = None
    usual_s: int | None = None
    limit_s: Annotated[int | None, about("After so long without a sign of life it has failed.")] = None
    is_slow: bool = False


class HostTimeline(Wire, frozen=True, kw_only=True):
    """The stages of one host."""

    id: str
    name: str
    role: str
    stages: tuple[StageSpan, ...]


class Timeline(Wire, frozen=True, kw_only=True):
    """The installation of a cluster, host by host."""

    hosts: tuple[HostTimeline, ...]
    started_at: datetime | None = None
    usual_left_s: Annotated[int | None, about("How long it usually takes from here; a guess.")] = None


def timeline_of(
    cluster: Cluster, hosts: Mapping[str, Host], events: Iterable[Event], now: datetime
) -> Timeline:
    """The stages of all hosts; what happened before this installation does not count."""
    since, began = cluster.install_started_at, {id: dict[str, datetime]() for id in hosts}
    for event in events:
        stage = event.props.get("stage")
        if event.id in began and isinstance(stage, str) and since is not None and event.at >= since:
            if stage == (stages_of(hosts[event.id], cluster) or ("",))[0]:
                began[event.id].clear()  # It is installed anew.
            began[event.id].setdefault(stage, event.at)
    lines = tuple(_line(host, cluster, began[host.id], now) for host in hosts.values())
    return Timeline(hosts=lines, started_at=since, usual_left_s=_left(cluster, lines, now))


def _line(host: Host, cluster: Cluster, began: Mapping[str, datetime], now: datetime) -> HostTimeline:
    stages = stages_of(host, cluster)
    moments: list[datetime | None] = [began.get(stage) for stage in stages]
    spans = []
    for number, stage in enumerate(stages):
        start = moments[number]
        end = next((moment for moment in moments[number + 1 :] if moment is not None), None)
        if stage == _END:
            end = start
        spans.append(_span(stage, start, end if start is not None else None, cluster, now))
    return HostTimeline(id=host.id, name=name_of(host), role=effective_role(host), stages=tuple(spans))


def _span(
    stage: str, start: datetime | None, end: datetime | None, cluster: Cluster, now: datetime
) -> StageSpan:
    usual = usual_seconds(stage)
    lasted = ((end or now) - start).total_seconds() if start is not None else 0.0
    return StageSpan(
        stage=stage,
        started_at=start,
        ended_at=end,
        usual_s=usual,
        limit_s=int(host_timeout(stage, cluster).total_seconds()),
        is_slow=bool(usual) and lasted > _SLOW * usual,
    )


def _left(cluster: Cluster, lines: Sequence[HostTimeline], now: datetime) -> int | None:
    """By the host that has most before it."""
    if cluster.status not in ("preparing-for-installation", "installing", "finalizing"):
        return None
    return int(max((_left_of(line, now) for line in lines), default=0.0))


def _left_of(line: HostTimeline, now: datetime) -> float:
    seconds = 0.0
    for span in line.stages:
        usual = float(span.usual_s or 0)
        if span.started_at is None:
            skipped = any(each.started_at for each in line.stages[line.stages.index(span) :])
            seconds += 0.0 if skipped else usual
        elif span.ended_at is None:
            seconds += max(0.0, usual - (now - span.started_at).total_seconds())
    return seconds
