# SPDX-License-Identifier: Apache-2.0
"""When roles are given out: as soon as every host told what it is, and again when that changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final, TypeAlias

from muster.service.derive.names import effective_name
from muster.service.derive.phases import is_cluster_open, is_open
from muster.service.derive.roles import (
    Candidate,
    Fits,
    Suggestion,
    effective_role,
    masters_are_schedulable,
    suggest_roles,
    weigh,
)
from muster.service.derive.tallies import recount
from muster.service.realm import Draft, Realm
from muster.service.state import Host

_KEY: Final = "roles"
LATER: Final = Suggestion("worker", "the cluster has its control plane already")
Measure: TypeAlias = tuple[str, Candidate | None]
"""What decides about the role of a host: what it was told to be, and how much of a machine it is."""


class Measures:
    """What decides about the roles of all hosts."""

    def __init__(self) -> None:
        self.of: dict[str, Measure] = {}
        self.unknown: set[str] = set()
        """The hosts that have not told what they are."""

    def set(self, id: str, host: Host | None) -> bool:
        """Look at a host again; whether it is another than before."""
        if host is None:
            self.unknown.discard(id)
            return self.of.pop(id, None) is not None
        candidate = None
        if host.inventory is not None:
            candidate = Candidate(weigh(host.inventory), host.number, id)
        (self.unknown.add if candidate is None else self.unknown.discard)(id)
        is_news = self.of.get(id) != (host.role, candidate)
        self.of[id] = (host.role, candidate)
        return is_news


def _measures_of(realm: Realm) -> Measures:
    kept = realm.cache.get(_KEY)
    if isinstance(kept, Measures):
        return kept
    measures = realm.cache[_KEY] = Measures()
    for host in realm.hosts.values():
        measures.set(host.id, host)
    return measures


def derive_roles(draft: Draft, ids: Iterable[str], fits: Fits, *, asked: bool) -> None:
    """Suggest roles, after these hosts or what is asked of the cluster changed."""
    measures = _measures_of(draft.realm)
    news = asked
    for id in ids:
        host = draft.hosts.get(id)
        news |= measures.set(id, host) or _lacks_role(host)
    touched = set(ids)
    if news and is_cluster_open(draft.cluster):
        if draft.cluster.kind == "AddHostsCluster":
            _suggest_later(draft, measures, touched)
        elif draft.cluster.kind == "Cluster" and not measures.unknown:
            touched |= _suggest_all(draft, measures, fits)
    _derive_schedulable(draft, touched)


def _suggest_later(draft: Draft, measures: Measures, ids: Iterable[str]) -> None:
    """Hosts that come to a cluster that is there: it has its control plane, unless somebody says more."""
    for id in ids:
        role, candidate = measures.of.get(id, ("", None))
        if role == "auto-assign" and candidate is not None and draft.hosts[id].suggested_role != LATER.role:
            _suggest(draft, draft.hosts[id], LATER)


def _lacks_role(host: Host | None) -> bool:
    return host is not None and effective_role(host) == "auto-assign" and is_open(host)


def _suggest_all(draft: Draft, measures: Measures, fits: Fits) -> set[str]:
    """Suggest roles to all; returns who got another one."""
    given = Counter(role for role, _ in measures.of.values())
    candidates = (
        candidate
        for role, candidate in measures.of.values()
        if role == "auto-assign" and candidate is not None
    )
    hosts = draft.hosts
    suggestions = suggest_roles(draft.cluster, candidates, given, lambda id, role: fits(hosts[id], role))
    changed = set()
    for id, suggestion in suggestions.items():
        host = hosts[id]
        if host.suggested_role != suggestion.role or host.role_reason != suggestion.reason:
            _suggest(draft, host, suggestion)
            changed.add(id)
    return changed


def _suggest(draft: Draft, host: Host, suggestion: Suggestion) -> None:
    if not is_open(host):
        return
    is_new = host.suggested_role != suggestion.role
    draft.change(host, suggested_role=suggestion.role, role_reason=suggestion.reason)
    if is_new:
        message = f"Host {effective_name(host)}: suggested role is {suggestion.role}: {suggestion.reason}"
        draft.tell(host, "host_role_updated", message, host_id=host.id, suggested_role=suggestion.role)


def _derive_schedulable(draft: Draft, ids: Iterable[str]) -> None:
    tally, _ = recount(draft, "effective roles", lambda host: (effective_role(host),), ids)
    if is_cluster_open(draft.cluster):
        forced = masters_are_schedulable(draft.cluster, tally.counts["worker"])
        draft.change(draft.cluster, schedulable_masters_forced_true=forced)
