# SPDX-License-Identifier: Apache-2.0
"""What happened when in a modelled installation, read from the service's own log."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from muster.frozen import dataclass
from muster.service.realm import Event
from muster.service.store.port import Logged

_STATUS: Final = re.compile(r"updated status from (\S+) to (\S+) \((.*)\)\Z", re.DOTALL)
_LEFT_OUT: Final = frozenset({
    "host_validation_fixed", "cluster_validation_fixed", "infra_env_registered", "host_role_updated",
    "cluster_validation_failed", "cluster_installation_completed", "image_status_updated",
    "cluster_registration_succeeded",
})  # fmt: skip
"""What says the same as something else, or only what is usual."""
_TELLING: Final = frozenset({
    "insufficient", "disconnected", "pending-for-input", "error", "preparing-failed", "cancelled",
    "installing-pending-user-action",
})  # fmt: skip
"""States of which people want to know why."""
_USUAL: Final = frozenset({"installing-in-progress", "preparing-successful", "preparing-for-installation"})
_PASSING: Final = frozenset({
    ("discovering", "insufficient"), ("preparing-successful", "installing"),
    ("installing-in-progress", "installed"),
})  # fmt: skip
_MOST: Final = 160


@dataclass(frozen=True)
class Moment:
    """Something that happened."""

    at_s: float
    """Seconds after the beginning."""
    subject: str
    """A host by its name, or empty for the cluster."""
    what: str
    severity: str = "info"
    short: str = ""
    """The same without what differs between hosts."""


def timeline_of(log: Iterable[Logged], names: Mapping[str, str], start: float) -> tuple[Moment, ...]:
    """All that people would want to know, in order; hosts are called by the names that are given."""
    found: list[Moment] = []
    first = True
    for logged in log:
        event = logged.event
        what = _what(event)
        if not what or (event.kind == "host" and event.id not in names):
            continue
        if what.startswith("waits: ") and first:
            first = False  # A cluster that has no host yet waits for them: that is no news.
            continue
        subject = names[event.id] if event.kind == "host" else ""
        at_s = round(event.at.timestamp() - start, 3)
        found.append(Moment(at_s, subject, what, event.severity, what.partition(": ")[0]))
    return tuple(found)


def _what(event: Event) -> str:
    if not event.name or event.name in _LEFT_OUT:
        return ""
    if event.name == "host_install_progress_updated":
        return str(event.props.get("stage", ""))
    text = event.message.partition(": ")[2] or event.message
    status = _STATUS.search(text)
    if status is None:
        return _short(text)
    old, new, info = status.groups()
    if new in _USUAL or (event.kind == "host" and (old, new) in _PASSING):
        return ""
    return _short(f"is {new}: {info}" if new in _TELLING else f"is {new}")


def _short(text: str) -> str:
    return text if len(text) <= _MOST else f"{text[: _MOST - 1]}…"


@dataclass(frozen=True)
class Span:
    """The same of many hosts: when the first and when the last of them had it."""

    first_s: float
    last_s: float
    subjects: tuple[str, ...]
    what: str
    severity: str


def grouped(moments: Iterable[Moment]) -> Iterator[Span]:
    """Moments of many hosts, together where they are the same; in the order in which they began."""
    spans: dict[str, list[Moment]] = {}
    for moment in moments:
        key = moment.short if moment.subject else f"{moment.at_s} {moment.what}"
        spans.setdefault(key, []).append(moment)
    for each in spans.values():
        subjects = tuple(dict.fromkeys(moment.subject for moment in each if moment.subject))
        what = each[0].what if len(each) == 1 else each[0].short
        yield Span(each[0].at_s, each[-1].at_s, subjects, what, each[0].severity)
