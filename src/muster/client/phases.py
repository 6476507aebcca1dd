# SPDX-License-Identifier: Apache-2.0
"""Where the time of an installation went: what the service logged, in phases, one row for each of them.

Who watched the machines from outside knows more, and may say when each was switched on and what it booted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from muster.frozen import dataclass
from muster.model.wire.files import Event
from muster.units import render_clock

_NAMED: Final = re.compile(r"Host (?P<name>\S+): ")
_INSTALLED: Final = frozenset({"installed", "adding-hosts"})
_REGISTERED: Final = "registered"
_LONGEST_BOOT_S: Final = 3600.0
"""Who was switched on longer ago than that has another clock than the service."""


class Phase(StrEnum):
    """What a host does, in this order."""

    BOOT = "boot from the medium"
    MEETING = "meeting"
    CHECKS = "checks"
    WRITE = "writing the disk"
    OTHERS = "waiting for others"
    REBOOT = "boot from the disk"
    NODE = "control plane"
    SET_UP = "set-up"


class Course(msgspec.Struct, frozen=True):
    """When what was reached, in seconds of the service's clock."""

    began: float
    installed: float | None = None
    hosts: dict[str, dict[str, float]] = {}
    """By name: when it registered, and when it last came to each stage."""


@dataclass(frozen=True)
class Seen:
    """What was seen of a machine from outside; None is not known."""

    powered: float | None = None
    live: float | None = None
    """When it had booted the medium."""
    disk: float | None = None
    """When it had booted its disk."""


def course_of(events: Iterable[Event]) -> Course | None:
    """What the log of the service says; None when it says nothing."""
    names: dict[str, str] = {}
    hosts: dict[str, dict[str, float]] = {}
    times = []
    installed = None
    for event in sorted(events, key=lambda each: each.event_time):
        at = event.event_time.timestamp()
        times.append(at)
        props = _props(event)
        if event.host_id:
            found = _NAMED.match(event.message)
            if found is not None:
                names[event.host_id] = found["name"]
            reached = hosts.setdefault(event.host_id, {})
            if event.name == "host_registration_succeeded":
                reached.clear()  # What it was told before it came again does not count.
                reached[_REGISTERED] = at
            elif event.name == "host_install_progress_updated":
                reached[str(props.get("stage", ""))] = at
        elif event.name == "cluster_status_updated" and props.get("new_status") in _INSTALLED:
            installed = at
    if not times:
        return None
    return Course(times[0], installed, {names.get(id, id): reached for id, reached in hosts.items()})


def _props(event: Event) -> Mapping[str, object]:
    try:
        props = msgspec.json.decode(event.props or "{}")
    except msgspec.DecodeError:
        return {}
    return props if isinstance(props, Mapping) else {}


Spent = Mapping[str, Mapping[Phase, float]]
"""Seconds by host and phase; what is not known is left out."""


def spent_by(course: Course, seen: Mapping[str, Seen] | None = None) -> Spent:
    """How long each host was in each phase."""
    last = max(course.hosts, key=lambda name: course.hosts[name].get("Done", 0.0), default="")
    spent: dict[str, dict[Phase, float]] = {}
    for name, reached in course.hosts.items():
        points = _points(course, reached, _believed((seen or {}).get(name, Seen()), reached))
        if name == last and "Done" in reached:
            points.append((Phase.SET_UP, course.installed))
        spent[name] = _differences(points)
    return spent


def _believed(seen: Seen, reached: Mapping[str, float]) -> Seen:
    """What was seen from outside goes by another clock, which may be another one altogether."""
    registered = reached.get(_REGISTERED)
    if seen.powered is None or registered is None:
        return Seen()
    return seen if 0 <= registered - seen.powered <= _LONGEST_BOOT_S else Seen()


def _points(
    course: Course, reached: Mapping[str, float], seen: Seen
) -> list[tuple[Phase | None, float | None]]:
    """The phases in order, each with when it ended; the first says when it all began."""
    joined = reached.get("Configuring", reached.get("Joined"))
    return [
        (None, seen.powered if seen.powered is not None else course.began),
        (Phase.BOOT, seen.live),
        (Phase.MEETING, reached.get(_REGISTERED)),
        (Phase.CHECKS, reached.get("Starting installation")),
        (Phase.WRITE, reached.get("Waiting for control plane", reached.get("Rebooting"))),
        (Phase.OTHERS, reached.get("Rebooting") if "Waiting for control plane" in reached else None),
        (Phase.REBOOT, seen.disk if seen.disk is not None else joined),
        (Phase.NODE, reached.get("Done")),
    ]


def _differences(points: Sequence[tuple[Phase | None, float | None]]) -> dict[Phase, float]:
    """How long each phase took; one of which nobody knows when it ended belongs to the next."""
    spent: dict[Phase, float] = {}
    before = None
    for phase, at in points:
        if at is None:
            continue
        if phase is not None and before is not None:
            spent[phase] = max(0.0, at - before)
        before = at if before is None else max(before, at)
    return spent


def render_spent(course: Course, seen: Mapping[str, Seen] | None = None) -> str:
    """A table: a row for each phase, a column for each host, and how long all of it took."""
    spent = spent_by(course, seen)
    names = sorted(spent)
    width = max((len(name) for name in names), default=0) + 2
    rows = [("where the time went", *names)]
    for phase in Phase:
        cells = [spent[name].get(phase) for name in names]
        if any(cell is not None for cell in cells):
            rows.append((phase, *("" if cell is None else render_clock(cell) for cell in cells)))
    rows.append(("all of it", *(render_clock(sum(spent[name].values())) for name in names)))
    return "\n".join(
        f"{head:<22}{''.join(cell.rjust(width) for cell in cells)}".rstrip() for head, *cells in rows
    )
