# SPDX-License-Identifier: Apache-2.0
"""Sums over the hosts of a cluster, kept up with what changes: no question about all hosts walks over them.

They are kept in the realm's cache. A draft that is thrown away leaves them wrong for the hosts that it
touched, so these are counted again as soon as another draft asks.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Iterable
from typing import Final, TypeAlias

from muster.service.realm import Draft
from muster.service.state import Cluster, Host
from muster.service.states.stages import place_of, role_of

_Share: TypeAlias = tuple[str, str, int, int]
"""What one host adds: its role, its status, the stages that it reached, and of how many."""

RUNNING: Final = frozenset(
    {
        *("preparing-successful", "installing", "installing-in-progress", "installed"),
        *("installing-pending-user-action", "added-to-existing-cluster"),
    }
)
"""States of hosts that are, or may yet be, installed."""
_PHASES: Final = {
    "preparing-for-installation": "preparing",
    "installing": "installing",
    "installing-pending-user-action": "installing",
    "finalizing": "installing",
    "error": "error",
}


def phase_of(cluster: Cluster) -> str:
    """What hosts need to know of their cluster's state."""
    return _PHASES.get(cluster.status, "")


class Tally:
    """Hosts by role and status, and how many stages they reached in sum."""

    def __init__(self, draft: Draft) -> None:
        self.shape = _shape(draft)
        self.phase = ""
        """The phase of the cluster that the hosts last heard of."""
        self.reached = self.stages = 0
        self._statuses: Counter[str] = Counter()
        self._roles: Counter[tuple[str, str]] = Counter()
        self._shares: dict[str, _Share] = {}
        self._draft = weakref.ref(draft)
        self._unsure: set[str] = set()
        """Hosts as a draft has them that may never be applied."""
        self._begin(draft)
        self._count(draft, draft.hosts)

    @property
    def total(self) -> int:
        """How many hosts there are."""
        return len(self._shares)

    def count(self, *statuses: str) -> int:
        """How many hosts are in one of these states."""
        return sum(self._statuses[each] for each in statuses)

    def count_role(self, role: str, statuses: Iterable[str]) -> int:
        """How many hosts of a role are in one of these states."""
        return sum(self._roles[role, each] for each in statuses)

    def size_of_role(self, role: str) -> int:
        """How many hosts have a role."""
        return sum(number for (each, _), number in self._roles.items() if each == role)

    def sync(self, draft: Draft, ids: Iterable[str]) -> None:
        """Count these hosts as the draft has them."""
        if self._draft() is not draft:
            self._begin(draft)
            self._count(draft, tuple(self._unsure))
            self._draft = weakref.ref(draft)
            applied = draft.realm.hosts
            self._unsure = {id for id in self._unsure if draft.hosts.get(id) is not applied.get(id)}
        self._count(draft, ids)

    def _begin(self, draft: Draft) -> None:
        present = draft.realm.cluster
        self.phase = phase_of(present) if present is not None else ""

    def _count(self, draft: Draft, ids: Iterable[str]) -> None:
        cluster = draft.cluster
        for id in ids:
            host = draft.hosts.get(id)
            new = None if host is None else _share_of(host, cluster)
            old = self._shares.get(id)
            if new == old:
                continue
            self._unsure.add(id)
            if old is not None:
                self._add(old, -1)
                del self._shares[id]
            if new is not None:
                self._add(new, 1)
                self._shares[id] = new

    def _add(self, share: _Share, sign: int) -> None:
        role, status, reached, stages = share
        self._statuses[status] += sign
        self._roles[role, status] += sign
        self.reached += sign * reached
        self.stages += sign * stages


def _share_of(host: Host, cluster: Cluster) -> _Share:
    return role_of(host), host.status, *place_of(host, cluster)


def _shape(draft: Draft) -> tuple[str, int]:
    """What of a cluster decides which stages its hosts go through."""
    return draft.cluster.kind, draft.cluster.control_plane_count


def is_enough(cluster: Cluster, tally: Tally, statuses: frozenset[str], *, without: str = "") -> bool:
    """Whether the hosts in these states are enough for a cluster, perhaps without one of a role."""

    def count(role: str) -> int:
        return tally.count_role(role, statuses) - (role == without)

    wanted = cluster.control_plane_count
    if wanted == 1:
        return count("master") == 1 and tally.size_of_role("worker") == 0
    if count("master") < wanted:
        return False
    if wanted == 2 and tally.size_of_role("arbiter") and not count("arbiter"):
        return False
    return tally.size_of_role("worker") < 2 or count("worker") >= 2


def tally_of(draft: Draft, changed: Iterable[str] = ()) -> Tally:
    """The sums for a draft's cluster, with these and all hosts that changed since somebody took note."""
    tally = draft.realm.cache.get("tally")
    if not isinstance(tally, Tally) or tally.shape != _shape(draft):
        tally = draft.realm.cache["tally"] = Tally(draft)
    tally.sync(draft, (*changed, *(id for kind, id in draft.changes if kind == "host")))
    return tally
