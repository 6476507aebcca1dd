# SPDX-License-Identifier: Apache-2.0
"""States follow from what changed: of the hosts that did, of their cluster, and of all hosts when it moves.

    while changes := draft.take_changes():
        …                   # derived values and verdicts first: fitness is read from them
        react_states(draft, changes, fitness_of_host, fitness_of_cluster)

A call does not always go all the way: what hosts' new states mean for a cluster before its installation is
told by its verdicts, which are found before the next call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from datetime import datetime
from typing import Final

import msgspec

from muster.service.realm import Draft, Key
from muster.service.state import Cluster, Host, Kind, Waiting
from muster.service.states import cluster as clusters
from muster.service.states import host as hosts
from muster.service.states.cluster_table import BEFORE
from muster.service.states.fitness import UNASKED, ClusterFitness, HostFitness
from muster.service.states.host_rows import BEFORE as HOST_BEFORE
from muster.service.states.host_rows import POOL, PREPARING
from muster.service.states.sight import cluster_of
from muster.service.states.stages import is_paused
from muster.service.states.tally import phase_of, tally_of
from muster.service.states.waits import waits
from muster.service.states.words import name_of, span

OfHost = Callable[[Host], HostFitness]
OfCluster = Callable[[Cluster], ClusterFitness]
_BEFORE: Final = frozenset(BEFORE.split())
_JUDGED: Final = frozenset(f"{HOST_BEFORE} {PREPARING} {POOL}".split())
"""States of hosts that depend on how fit they are."""
_ROUNDS: Final = 16


def react_states(
    draft: Draft, changes: Mapping[Key, Set[str]], fitness_of_host: OfHost, fitness_of_cluster: OfCluster
) -> None:
    """Bring the states of all that changed, and of what depends on it, up to what is known."""
    ids: Iterable[str] = [id for kind, id in changes if kind == "host"]
    if draft.is_pool:
        _refresh_hosts(draft, ids, fitness_of_host)
        return
    tally = tally_of(draft, ids)
    for _ in range(_ROUNDS):
        phase = phase_of(draft.cluster)
        if phase != tally.phase:
            tally.phase, ids = phase, list(draft.hosts)
        moved = _refresh_hosts(draft, ids, fitness_of_host)
        ids = ()
        if moved and draft.cluster.status in _BEFORE:
            return
        if not clusters.refresh(draft, fitness_of_cluster(draft.cluster)):
            return


def _refresh_hosts(draft: Draft, ids: Iterable[str], fitness_of_host: OfHost) -> bool:
    moved = False
    for id in ids:
        host = draft.hosts.get(id)
        if host is not None:
            fitness = fitness_of_host(host) if host.status in _JUDGED else UNASKED
            moved |= hosts.refresh(draft, host, fitness)
    return moved


def time_passed(
    draft: Draft, kind: Kind, id: str, fitness_of_host: OfHost, fitness_of_cluster: OfCluster
) -> None:
    """A deadline may have passed: what the tables say happens; else people are reminded."""
    waiting = _waiting(draft, kind, id)
    if waiting is None or waiting.until is None or waiting.until > draft.now:
        return
    told = sum(1 for each in draft.events if each.name)
    if kind == "host":
        hosts.refresh(draft, draft.hosts[id], fitness_of_host(draft.hosts[id]))
    else:
        clusters.refresh(draft, fitness_of_cluster(draft.cluster))
    after = _waiting(draft, kind, id)
    if after is None or after.until is None or after.until > draft.now:
        return
    subject = draft.hosts[id] if kind == "host" else draft.cluster
    if isinstance(subject, Host) and is_paused(subject, cluster_of(draft)):
        return  # its clock goes on, with another deadline, when nobody is waited for any more
    _extend(draft, subject, _next_reminder(subject, after, draft.now))
    if told == sum(1 for each in draft.events if each.name):
        _remind(draft, subject, after)


def _waiting(draft: Draft, kind: Kind, id: str) -> Waiting | None:
    subject = draft.hosts.get(id) if kind == "host" else None if draft.is_pool else draft.cluster
    return None if subject is None or subject.id != id else subject.waiting


def _next_reminder(subject: Host | Cluster, waiting: Waiting, now: datetime) -> datetime:
    """Twice as long as it took so far: who is reminded too often stops to look."""
    of = "host" if isinstance(subject, Host) else "cluster"
    return now + max(now - waiting.since, waits()[of][waiting.kind].within)


def _extend(draft: Draft, subject: Host | Cluster, until: datetime) -> None:
    assert subject.waiting is not None
    draft.change(subject, waiting=msgspec.structs.replace(subject.waiting, until=until))


def _remind(draft: Draft, subject: Host | Cluster, waiting: Waiting) -> None:
    of = "host" if isinstance(subject, Host) else "cluster"
    name = f"Host {name_of(subject)}" if isinstance(subject, Host) else f"Cluster {subject.name}"
    long = span(draft.now - waiting.since)
    message = f"{name}: it waits since {long}: {waiting.reason}. {waiting.action}"
    draft.tell(subject, f"{of}_waits_long", message, severity="warning", waiting=waiting.kind)
