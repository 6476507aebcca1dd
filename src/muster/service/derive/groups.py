# SPDX-License-Identifier: Apache-2.0
"""Who reaches whom: for each network and family, the largest set of hosts that all reach each other.

A report changes as many edges as it brings news of, and only those are looked at. When all who see each other
see the same, which is what a healthy network looks like, that is the answer; otherwise it is searched for.

Hosts are asked about a few of their peers at a time. As long as nobody said that somebody does not answer, a
set that was found stays and grows, so that hosts do not come and go with every report.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from muster.service.derive.bits import numbers_in, read_bits
from muster.service.realm import Draft, Realm
from muster.service.state import Host

_KEY: Final = "groups"
_EFFORT: Final = 1024
"""How many views may be looked at to find the largest mesh of a broken network."""


class Mesh:
    """Who reaches whom in one network."""

    def __init__(self) -> None:
        self.reached: dict[int, int] = {}
        """By host: whom it reaches."""
        self.mutual: dict[int, int] = {}
        """By host: itself, and who is reached and reaches back; for those who have somebody."""
        self.alike: dict[int, int] = {}
        """By set of hosts: who sees exactly these."""
        self.group = 0
        self.members = 0
        """All who reach somebody, as bits."""
        self._missed: dict[int, int] = {}
        """By host: whom it was asked about and does not reach."""
        self._stale = False
        self._moved = 0
        """Who is reached and reaches back changed for these since the last look, as bits."""
        self._is_grown = False
        """Whether nobody but those who moved since could join the group."""

    def ask(self, number: int, asked: int) -> None:
        """A host was asked about these; who of them it does not reach did not answer, or is not there."""
        missed = asked & ~self.reached.get(number, 0) & ~(1 << number)
        if missed and number in self.reached:
            self._missed[number] = missed
        else:
            self._missed.pop(number, None)
        self._stale = True

    def report(self, number: int, reached: int) -> None:
        """A host reaches these, and no others."""
        before = self.reached.get(number, 0)
        if before == reached:
            return
        mine = 1 << number
        if reached:
            self.reached[number] = reached
            self.members |= mine
        else:
            del self.reached[number]
            self._missed.pop(number, None)
            self.members ^= mine
        changed = 0
        for other in numbers_in(before ^ reached):
            if other != number and self.reached.get(other, 0) & mine:
                self._set(other, self.mutual.get(other, 1 << other) ^ mine)
                changed |= 1 << other
        if changed:
            self._set(number, self.mutual.get(number, mine) ^ changed)
            self._stale = True

    def _set(self, number: int, seen: int) -> None:
        bit = 1 << number
        self._moved |= bit
        before = self.mutual.get(number)
        if before is not None:
            left = self.alike[before] ^ bit
            if left:
                self.alike[before] = left
            else:
                del self.alike[before]
        if seen == bit:
            self.mutual.pop(number, None)
        else:
            self.mutual[number] = seen
            self.alike[seen] = self.alike.get(seen, 0) | bit

    def refresh(self, least: int = 0, *, keep: bool = False) -> int:
        """Find the largest mesh anew if it may be another; returns who joined or left it.

        One that is large enough can be kept as long as nobody said that somebody does not answer.
        """
        if not self._stale:
            return 0
        self._stale = False
        before, kept = self.group, self.group & self.members
        found = 0
        if keep and kept.bit_count() >= max(least, 1) and self._is_well():
            is_enough = self._is_grown and kept == before
            found = self._grown(kept, self._moved if is_enough else self.members)
        if found or self._moved or self._is_grown:  # Else nothing changed since it was searched for.
            self.group, self._moved, self._is_grown = found or self._largest(), 0, bool(found)
        return before ^ self.group

    def _is_well(self) -> bool:
        """Whether all who are in the network answered everybody who asked them."""
        return not any(missed & self.members for missed in self._missed.values())

    def _grown(self, group: int, moved: int) -> int:
        """A mesh with those who see all of it by now; none if it is no mesh any more.

        Only those who moved are looked at; the others see what they saw before.
        """
        mutual = self.mutual
        if any(mutual.get(number, 0) & group != group for number in numbers_in(group & moved)):
            return 0
        views = {mutual[number] for number in numbers_in(moved & ~group) if number in mutual}
        for view in sorted(views, key=self._rank):
            if view & group == group:
                group |= self.alike[view]
        return group

    def _largest(self) -> int:
        if not self.alike:
            return 0
        views = sorted(self.alike, key=self._rank)
        if self.alike[views[0]] == views[0]:
            return views[0]
        parts = [(view, self.alike[view]) for view in views]
        best, best_size, effort = 0, 0, _EFFORT
        for seen in views:
            if seen.bit_count() <= best_size or effort <= 0:
                break
            effort -= len(views)
            found = _mesh_within(seen, parts)
            if found.bit_count() > best_size:
                best, best_size = found, found.bit_count()
        return best

    def _rank(self, seen: int) -> tuple[int, int]:
        who = self.alike[seen]
        return (-seen.bit_count(), who & -who)


def _mesh_within(seen: int, parts: Iterable[tuple[int, int]]) -> int:
    """A full mesh among those who are seen: who sees most comes first.

    Hosts that see the same see each other, so they come and stay away together.
    """
    mesh = 0
    for view, who in parts:
        if who & seen and view & mesh == mesh:
            mesh |= who
    return mesh


class Groups:
    """The meshes of all networks and families of a realm."""

    def __init__(self) -> None:
        self.meshes: dict[str, Mesh] = {}
        self._told: dict[str, tuple[int, Mapping[str, str]]] = {}
        """What each host told last, with its number."""
        self._ids: dict[int, str] = {}
        self._asked: dict[int, int] = {}
        """Whom each host was asked about."""
        self._stale: set[str] = set()

    def take(self, host: Host) -> None:
        """What a host reaches now."""
        number, before = self._told.get(host.id, (host.number, {}))
        if number != host.number:
            self.forget(host.id)
            before = {}
        asked = read_bits(host.asked)
        if host.reached is before and asked == self._asked.get(host.number, 0):
            return
        self._told[host.id] = (host.number, host.reached)
        self._ids[host.number], self._asked[host.number] = host.id, asked
        for network in before.keys() | host.reached.keys():
            text = host.reached.get(network, "")
            mesh = self.meshes.setdefault(network, Mesh())
            if text != before.get(network, ""):
                mesh.report(host.number, read_bits(text))
            mesh.ask(host.number, asked)
            self._stale.add(network)

    def restore(self, hosts: Iterable[Host]) -> None:
        """The groups that hosts were told of before."""
        for host in hosts:
            for network in host.groups:
                if network in self.meshes:
                    self.meshes[network].group |= 1 << host.number

    def forget(self, id: str) -> None:
        """A host is no more: it reaches nobody, and nobody needs to reach it."""
        number, before = self._told.pop(id, (-1, {}))
        self._ids.pop(number, None)
        self._asked.pop(number, None)
        for network in before:
            self.meshes[network].report(number, 0)
            self._stale.add(network)

    def refresh(self, least: int) -> set[str]:
        """Look again where something changed; returns the hosts whose groups may be others now."""
        changed = 0
        for network in self._stale:
            mesh = self.meshes[network]
            before = mesh.group
            changed |= mesh.refresh(least, keep=True)
            if (before.bit_count() >= least) != (mesh.group.bit_count() >= least):
                changed |= before | mesh.group
            if not mesh.reached:
                del self.meshes[network]
        self._stale.clear()
        return {self._ids[number] for number in numbers_in(changed) if number in self._ids}

    def groups_of(self, host: Host, least: int) -> tuple[str, ...]:
        """The networks in whose largest mesh a host is; a mesh of fewer hosts than `least` is none."""
        bit = 1 << host.number
        return tuple(
            network
            for network in sorted(host.reached)
            if (mesh := self.meshes.get(network)) is not None
            and mesh.group & bit
            and mesh.group.bit_count() >= least
        )


def least_members(draft: Draft) -> int:
    """How many hosts make a group: three, or two where two with fencing make a control plane."""
    is_pair = draft.cluster.control_plane_count == 2
    return 2 if is_pair and any(host.fencing_credentials for host in draft.hosts.values()) else 3


def groups_of(realm: Realm) -> Groups:
    """The groups of a realm, found anew if nobody keeps them."""
    kept = realm.cache.get(_KEY)
    if isinstance(kept, Groups):
        return kept
    groups = realm.cache[_KEY] = Groups()
    for host in realm.hosts.values():
        groups.take(host)
    groups.restore(realm.hosts.values())
    return groups


def derive_groups(draft: Draft, ids: Iterable[str]) -> None:
    """Tell hosts which groups they are in, after these reach others than before."""
    groups = groups_of(draft.realm)
    affected = set(ids)
    for id in ids:
        host = draft.hosts.get(id)
        if host is None:
            groups.forget(id)
        else:
            groups.take(host)
    least = least_members(draft)
    for id in sorted(affected | groups.refresh(least)):
        if (host := draft.hosts.get(id)) is not None:
            draft.change(host, groups=groups.groups_of(host, least))
