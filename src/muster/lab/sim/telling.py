# SPDX-License-Identifier: Apache-2.0
"""A modelled installation in words for people, and as JSON for scripts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Final

from muster.config.report import excerpt
from muster.config.spelling import plural
from muster.frozen import dataclass
from muster.lab.sim.blockers import Blocker, blockers_of
from muster.lab.sim.path import Leg, critical_path
from muster.lab.sim.simulation import Outcome, Simulation
from muster.lab.sim.timeline import Moment, grouped, timeline_of
from muster.model.plan import Plan
from muster.model.problem import Place
from muster.model.site import Site
from muster.redact import printable, redact
from muster.units import render_clock

FEW: Final = 12
"""So many hosts are told of one by one."""
_CLUSTER: Final = "cluster"


@dataclass(frozen=True)
class HostTold:
    """What became of a host."""

    name: str
    role: str
    status: str
    disk: str
    """What was installed on; empty when nothing was."""


@dataclass(frozen=True)
class Told:
    """All that there is to tell of a run."""

    site: str
    seed: int
    faults: tuple[str, ...]
    outcome: Outcome
    status: str
    info: str
    seconds: float
    hosts: tuple[HostTold, ...]
    moments: tuple[Moment, ...]
    blockers: tuple[Blocker, ...]
    path: tuple[Leg, ...]
    notes: tuple[str, ...] = ()


def tell(run: Simulation, site: Site, plan: Plan) -> Told:
    """What a run that has ended was like."""
    names = {machine.host_id: machine.name for machine in run.course.machines}
    log = list(run.course.store.log())
    return Told(
        site=plan.name,
        seed=run.course.seed,
        faults=tuple(map(str, run.course.around.troubles)),
        outcome=run.outcome,
        status=run.cluster.status,
        info=run.cluster.status_info,
        seconds=round(run.scheduler.now - run.start, 3),
        hosts=tuple(_hosts(run, names)),
        moments=timeline_of(log, names, run.start),
        blockers=() if run.outcome == "installed" else blockers_of(run, site, plan),
        path=critical_path(log, names, run.start),
        notes=run.course.notes,
    )


def _hosts(run: Simulation, names: dict[str, str]) -> Iterator[HostTold]:
    by_id = {host.id: host for host in run.hosts}
    written = {
        loop.host.id: [each.path for each in loop.host.written if each.why == "image"] for loop in run.loops
    }
    for id, name in names.items():
        host = by_id.get(id)
        role = "" if host is None else "bootstrap" if host.bootstrap else host.role
        yield HostTold(
            name=name,
            role=role,
            status="" if host is None else host.status,
            disk=written[id][-1] if written.get(id) else "",
        )


# For people


def render(told: Told) -> str:
    """The whole story."""
    return printable(redact("\n".join(_lines(told))))


def _lines(told: Told) -> Iterator[str]:
    with_faults = f", {', '.join(told.faults)}" if told.faults else ""
    yield f"{told.site}: {plural(len(told.hosts), 'host')}, seed {told.seed}{with_faults}"
    for note in told.notes:
        yield f"note: {note}"
    yield ""
    yield from _timeline(told)
    if told.path:
        yield ""
        yield "What the end had to wait for:"
        for leg in told.path:
            span = f"{render_clock(leg.since_s):>7}  {render_clock(leg.seconds):>7}"
            yield f"{span}  {leg.subject or _CLUSTER}: {leg.what}"
    if told.blockers:
        yield ""
        yield "What stands in the way:"
        for blocker in told.blockers:
            yield ""
            yield from _blocker(blocker)
    yield ""
    yield _end(told)


def _timeline(told: Told) -> Iterator[str]:
    width = max([len(_CLUSTER), *(len(host.name) for host in told.hosts)])
    if len(told.hosts) <= FEW:
        for moment in told.moments:
            yield f"{render_clock(moment.at_s):>7}  {moment.subject or _CLUSTER:<{width}}  {moment.what}"
        return
    for span in grouped(told.moments):
        count = len(span.subjects)
        who = _CLUSTER if not count else span.subjects[0] if count == 1 else f"{count} hosts"
        until = render_clock(span.last_s) if span.last_s - span.first_s >= 1 else ""
        yield f"{render_clock(span.first_s):>7} {until:>8}  {who:<{width}}  {span.what}"


def _blocker(blocker: Blocker) -> Iterator[str]:
    head = f"{blocker.place}: " if blocker.place is not None else ""
    hosts = f" ({_few(blocker.hosts)})" if blocker.hosts else ""
    yield f"{head}{blocker.id}{hosts}: {blocker.message}"
    if blocker.place is not None:
        yield from excerpt(blocker.place)
    yield f"      why: {blocker.why}"
    yield f"      fix: {blocker.fix}"
    for fault in blocker.faults:
        yield f"      asked for: --fault {fault}"


def _few(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:FEW])
    return shown if len(names) <= FEW else f"{shown} and {len(names) - FEW} more"


def _end(told: Told) -> str:
    clock = render_clock(told.seconds)
    if told.outcome == "installed":
        return f"installed after {clock}"
    if told.outcome == "error":
        return f"failed after {clock}: {told.info}"
    return f"not installed: after {clock} it is {told.status}, and waits for what is said above"


# For scripts


def as_json(told: Told) -> dict[str, Any]:
    """The same for scripts."""
    return {
        "site": told.site,
        "seed": told.seed,
        "faults": list(told.faults),
        "notes": list(told.notes),
        "outcome": told.outcome,
        "status": told.status,
        "statusInfo": redact(told.info),
        "durationSeconds": told.seconds,
        "hosts": [asdict(each) for each in told.hosts],
        "timeline": [
            {
                "atSeconds": each.at_s,
                "host": each.subject,
                "what": redact(each.what),
                "severity": each.severity,
            }
            for each in told.moments
        ],
        "criticalPath": [
            {
                "sinceSeconds": round(each.since_s, 3),
                "seconds": round(each.seconds, 3),
                "host": each.subject,
                "what": each.what,
            }
            for each in told.path
        ],
        "blockers": [_blocker_json(each) for each in told.blockers],
    }


def _blocker_json(blocker: Blocker) -> dict[str, Any]:
    return {
        "id": blocker.id,
        "message": redact(blocker.message),
        "why": redact(blocker.why),
        "fix": redact(blocker.fix),
        "hosts": list(blocker.hosts),
        "place": _place_json(blocker.place),
        "faults": list(blocker.faults),
    }


def _place_json(place: Place | None) -> dict[str, Any] | None:
    if place is None:
        return None
    line, column = place.position
    return {"file": place.source.name, "line": line, "column": column}
