# SPDX-License-Identifier: Apache-2.0
"""The critical path of an installation: what of all that went on at the same time held up the end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from muster.frozen import dataclass
from muster.service.realm import Event
from muster.service.store.port import Logged

_WAITS: Final = frozenset({"Waiting for control plane"})
"""Stages that end when another host has got somewhere."""
_OF_WORKERS: Final = "Waiting for ignition"
"""Nobody waits for hosts that have this stage."""
_AWAITED: Final = frozenset({"Joined", "Done"})


@dataclass(frozen=True)
class Leg:
    """A part of the path: who was at what, from when to when, in seconds after the beginning."""

    since_s: float
    until_s: float
    subject: str
    """A host by its name, or empty for the cluster."""
    what: str

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.until_s - self.since_s


class _Story:
    """When what was reached, as the log tells."""

    def __init__(self, log: Iterable[Logged], start: float) -> None:
        self.states: dict[str, list[tuple[float, str]]] = {}
        """Of each subject: when it came into each state."""
        self.stages: dict[str, list[tuple[float, str]]] = {}
        self.registered: dict[str, float] = {}
        for logged in log:
            self._note(logged.event, logged.event.at.timestamp() - start)

    def _note(self, event: Event, at: float) -> None:
        if event.kind == "infra-env":
            return
        key = event.id if event.kind == "host" else ""
        if event.born and key:
            self.registered[key] = at
        if (status := event.values.get("status")) is not None:
            self.states.setdefault(key, []).append((at, status))
        if event.name == "host_install_progress_updated":
            stage = str(event.props.get("stage", ""))
            known = self.stages.setdefault(key, [])
            if not known or known[-1][1] != stage:
                known.append((at, stage))

    def last(self, key: str, status: str) -> float | None:
        """When something last came into a state."""
        return next((at for at, each in reversed(self.states.get(key, ())) if each == status), None)


def critical_path(log: Iterable[Logged], names: Mapping[str, str], start: float) -> tuple[Leg, ...]:
    """What an installation that is done had to wait for, in order; empty when it is not done."""
    story = _Story(log, start)
    marks = [story.last("", status) for status in _MARKS]
    if any(mark is None for mark in marks):
        return ()
    prepared, installing, finalizing, installed = (mark or 0.0 for mark in marks)
    legs = [
        *_discovery(story, names, prepared),
        _preparation(story, names, prepared, installing),
        *_installation(story, names, installing, finalizing),
        Leg(finalizing, installed, "", "the cluster comes up"),
    ]
    return tuple(leg for leg in legs if leg.seconds > 0)


_MARKS: Final = ("preparing-for-installation", "installing", "finalizing", "installed")


def _discovery(story: _Story, names: Mapping[str, str], until: float) -> list[Leg]:
    """Until the last host is ready."""
    ready = {id: story.last(id, "known") or 0.0 for id in names}
    slowest = max(ready, key=lambda id: (round(ready[id]), story.registered.get(id, 0.0)))
    since, name = story.registered.get(slowest, 0.0), names[slowest]
    return [
        Leg(0.0, since, name, "boots the medium"),
        Leg(since, ready[slowest], name, "is checked"),
        Leg(ready[slowest], until, "", "the installation is started"),
    ]


def _preparation(story: _Story, names: Mapping[str, str], since: float, until: float) -> Leg:
    done = {id: story.last(id, "preparing-successful") or 0.0 for id in names}
    slowest = max(done, key=lambda id: (done[id], names[id]))
    own = done[slowest] >= until - 1.0
    return Leg(
        since, until, names[slowest] if own else "", "disk and images" if own else "the files are made"
    )


def _installation(story: _Story, names: Mapping[str, str], since: float, until: float) -> list[Leg]:
    """From the last host that was done back to the first stage, by whoever was waited for."""
    ends = {
        id: at
        for id, stages in story.stages.items()
        for at, stage in stages
        if stage == "Done" and id in names and at <= until
    }
    if not ends:
        return [Leg(since, until, "", "the hosts are installed")]
    host = max(ends, key=lambda id: (ends[id], names[id]))
    end, legs = ends[host], [Leg(ends[host], until, "", "the last host is noticed")]
    while end > since:
        at, stage = _stage_before(story.stages[host], end, since)
        other = _awaited(story, host, at, end) if stage in _WAITS else None
        if other is not None:
            moment, host_awaited = other
            legs.append(Leg(moment, end, names[host], stage))
            host, end = host_awaited, moment
            continue
        legs.append(Leg(at, end, names[host], stage))
        end = at
    return legs[::-1]


def _stage_before(stages: list[tuple[float, str]], end: float, since: float) -> tuple[float, str]:
    return next(((at, stage) for at, stage in reversed(stages) if at < end), (since, "is told to begin"))


def _awaited(story: _Story, host: str, since: float, end: float) -> tuple[float, str] | None:
    """The last that another host reached while this one waited, if it may have been waited for."""
    found = [
        (at, id)
        for id, stages in story.stages.items()
        if id != host and all(stage != _OF_WORKERS for _, stage in stages)
        for at, stage in stages
        if stage in _AWAITED and since < at < end
    ]
    return max(found, default=None)
