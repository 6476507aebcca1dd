# SPDX-License-Identifier: Apache-2.0
"""What is new of a cluster and its hosts, as lines: steps forward, and troubles, once and when mended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Final, Literal, TypeAlias

from muster.client.snapshot import OURS, REBOOTED, Reason, Snapshot, Verdict, Why, failing, name_of, verdicts
from muster.frozen import dataclass
from muster.model.wire.cluster import Cluster
from muster.model.wire.host import Host
from muster.redact import printable
from muster.units import render_clock

Kind: TypeAlias = Literal[
    "service", "cluster", "host", "trouble", "mended", "kubernetes", "node", "waiting", "timeline"
]
_SETTLE_S: Final = 10.0
"""While hosts come up, much fails for a moment because the others are not there yet."""
_NAMED: Final = 5
_BAD: Final = frozenset({"error", "disconnected", "installing-pending-user-action", "preparing-failed"})
BEFORE: Final = frozenset({"insufficient", "pending-for-input", "ready"})
"""States of a cluster in which validations decide something."""
_HOSTS_READY: Final = "all-hosts-are-ready-to-install"
"""Hosts that are not ready say it themselves, and why."""
_HOSTS_HERE: Final = "sufficient-masters-count"
"""While some have not come yet, this says nothing."""


@dataclass(frozen=True)
class Line:
    """Something that is told."""

    kind: Kind
    text: str
    is_warning: bool = False
    facts: Mapping[str, str] = field(default_factory=dict)
    """The same for programs."""


def make_line(kind: Kind, text: str, *, warn: bool = False, **facts: str) -> Line:
    """A line that does nothing to a terminal, whoever said what is in it."""
    shown = "\n".join(printable(each) for each in text.splitlines())
    return Line(kind, shown, warn, {name: value for name, value in facts.items() if value})


class Steps:
    """Tells when a cluster or a host gets to another state or stage."""

    def __init__(self) -> None:
        self._cluster = ""
        self._hosts: dict[str, tuple[str, str, str]] = {}

    def tell(self, snapshot: Snapshot) -> Iterator[Line]:
        """What changed since the last time."""
        cluster = snapshot.cluster
        if cluster is None:
            return
        if cluster.status != self._cluster:
            self._cluster = cluster.status
            yield make_line(
                "cluster",
                f"cluster: {cluster.status}: {cluster.status_info}",
                warn=cluster.status in _BAD,
                status=cluster.status,
                info=cluster.status_info,
            )
        for host in snapshot.hosts:
            yield from self._step(host)

    def _step(self, host: Host) -> Iterator[Line]:
        stage = (host.progress.current_stage if host.progress else None) or ""
        # Before the restart it is how much was written, which is nothing for a line of its own.
        doing = (host.progress.progress_info or "") if host.progress and stage in REBOOTED else ""
        reached = (host.status, stage, doing)
        if reached == self._hosts.get(host.id) or not (host.requested_hostname or host.status in _BAD):
            return  # One that has no name yet is told of when it has.
        self._hosts[host.id] = reached
        what = stage if stage and host.status == "installing-in-progress" else host.status
        is_bad = host.status in _BAD
        more = host.status_info if is_bad else doing
        text = f"{name_of(host)}: {what}" + (f": {more}" if more else "")
        facts = {"status": host.status, "stage": stage, "info": more or host.status_info}
        yield make_line("host", text, warn=is_bad, host=name_of(host), **facts)


@dataclass(frozen=True)
class Cause:
    """A trouble of one host, or of the cluster."""

    id: str
    label: str
    message: str
    is_validation: bool
    why: str = ""
    fix: str = ""


class Troubles:
    """Tells what stands in the way: once when it came to stay, and once when it is mended."""

    def __init__(self, expected: int) -> None:
        self._expected = expected
        """So many hosts will come."""
        self._since: dict[tuple[str, str], float] = {}
        self._told: dict[tuple[str, str], Cause] = {}

    def tell(self, snapshot: Snapshot, now: float) -> Iterator[Line]:
        """What came and what went."""
        if snapshot.cluster is None:
            return  # Nobody knows; what was told still stands.
        found = {(each.id, each.label): each for each in troubles_of(snapshot, self._expected)}
        for key in self._since.keys() - found.keys():
            since = self._since.pop(key)
            if (gone := self._told.pop(key, None)) is not None:
                yield _mended(gone, now - since)
        due: dict[tuple[str, str, str], list[Cause]] = {}
        for key, cause in found.items():
            if now - self._since.setdefault(key, now) >= _SETTLE_S and key not in self._told:
                self._told[key] = cause
                due.setdefault((cause.id, cause.why, cause.fix), []).append(cause)
        for causes in due.values():
            yield _trouble(causes)


def _trouble(causes: list[Cause]) -> Line:
    """One line for all hosts with the same trouble, each in its own words."""
    first = causes[0]
    labels = ", ".join(each.label for each in causes)
    lines = [f"{each.label}: {cause_words(each)}" for each in causes[:_NAMED]]
    if len(causes) > _NAMED:
        lines.append(f"{len(causes) - _NAMED} more hosts: {first.id}")
    lines += [f"  {what}: {text}" for what, text in (("why", first.why), ("fix", first.fix)) if text]
    facts = {"id": first.id, "of": labels, "info": first.message, "why": first.why, "fix": first.fix}
    return make_line("trouble", "\n".join(lines), warn=True, **facts)


def cause_words(cause: Cause) -> str:
    """What is wrong, in the same words wherever it is told."""
    return f"{cause.id} fails: {cause.message}" if cause.is_validation else cause.message


def _mended(cause: Cause, took_s: float) -> Line:
    what = "is mended" if cause.is_validation else "is over"
    text = f"{cause.label}: {cause.id} {what} after {render_clock(took_s)}"
    return make_line("mended", text, id=cause.id, of=cause.label)


def troubles_of(snapshot: Snapshot, expected: int) -> Iterator[Cause]:
    """What stands in the way of a cluster that is known, when so many hosts are to come."""
    cluster = snapshot.cluster
    assert cluster is not None
    assert snapshot.service is not None
    why = snapshot.service.why or Why()
    if cluster.status in BEFORE:
        idle = {_HOSTS_READY} if len(snapshot.hosts) >= expected else {_HOSTS_READY, _HOSTS_HERE}
        yield from (each for each in _validations(cluster, snapshot.hosts, why) if each.id not in idle)
    judged = {each.id for each in verdicts(cluster.validations_info)}
    judged |= {each.id for host in snapshot.hosts for each in verdicts(host.validations_info)}
    for reason in why.reasons:
        if reason.id not in judged and (reason.who in OURS or reason.overdue):
            yield from _waits(reason)


def _validations(cluster: Cluster, hosts: tuple[Host, ...], why: Why) -> Iterator[Cause]:
    texts = {(each.of, each.id): each for each in why.reasons}

    def cause(of: Literal["cluster", "host"], label: str, verdict: Verdict) -> Cause:
        text = texts.get((of, verdict.id))
        message = verdict.message or "it says no more"
        return Cause(verdict.id, label, message, True, text.why if text else "", text.fix if text else "")

    for verdict in failing(cluster.validations_info):
        yield cause("cluster", "cluster", verdict)
    for host in hosts:
        for verdict in failing(host.validations_info):
            yield cause("host", name_of(host), verdict)


def _waits(reason: Reason) -> Iterator[Cause]:
    late = ", and it takes longer than it should" if reason.overdue else ""
    if not reason.hosts:
        yield Cause(reason.id, "cluster", reason.message + late, False, reason.why, reason.fix)
    for host in reason.hosts:
        message = (host.message or reason.message) + late
        yield Cause(reason.id, host.name or host.id, message, False, reason.why, reason.fix)
