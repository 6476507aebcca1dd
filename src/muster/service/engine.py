# SPDX-License-Identifier: Apache-2.0
"""The heart of the service: one decision at a time, about one realm, in memory.

    change, answer = engine.change(realm, lambda draft: register_host(draft, …))
    store.commit([change])      # whoever asked is answered after this

It does no I/O, has no clock of its own, and is the same in the server, in simulations and in tests. What
could not be committed is forgotten by loading its realm again.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Set
from datetime import datetime, timedelta
from typing import Final, TypeVar

from muster.service.realm import NO_CAUSE, Cause, Draft, Event, Key, Realm, fold
from muster.service.refusals import NotFound
from muster.service.state import Cluster, Host, InfraEnv, Kind, kind_of
from muster.service.store.port import Change

T = TypeVar("T")
SILENCE: Final = timedelta(minutes=3)
"""A host that asks for nothing for so long is taken for lost."""
BOOTSTRAP_SILENCE: Final = timedelta(minutes=5)


class Engine:
    """All realms, whom they hold, when what of them is due, and when each host was last heard."""

    def __init__(self, react: Callable[[Draft], None]) -> None:
        self._react = react
        self.realms: dict[str, Realm] = {}
        self._where: dict[Key, str] = {}
        self._members: dict[str, set[str]] = {}
        """The hosts of each infra-env, wherever they are bound."""
        self._timers: list[tuple[datetime, Kind, str]] = []
        self._deadlines: dict[Key, datetime] = {}
        """The deadline of each that waits, which is among the timers."""
        self._watches: dict[str, datetime] = {}
        """When each host is looked at next because it may be silent, which is among the timers, too."""
        self.heard: dict[str, datetime] = {}
        """When each host last asked for instructions. Not worth a write: after a start all count as heard."""

    def load(self, realms: Iterable[Realm], now: datetime) -> None:
        """Take over realms as a store has them, in place of what is known of them.

        Hosts that were known before were heard when they were heard.
        """
        for realm in realms:
            known = self.realms.pop(realm.id, None)
            self.realms[realm.id] = realm
            for subject in realm.subjects():
                self._take_note(realm.id, subject, now)
            for subject in () if known is None else known.subjects():
                if realm.find(kind_of(subject), subject.id) is None:
                    self._lose(realm.id, kind_of(subject), subject.id)

    def follow(self, realm: Realm, version: int, events: Iterable[Event], now: datetime) -> None:
        """Take over what somebody else decided and made durable."""
        touched: dict[Key, None] = {}
        for event in events:
            fold(realm, event)
            touched[event.kind, event.id] = None
        realm.version = version
        realm.cache.clear()
        for kind, id in touched:
            subject = realm.find(kind, id)
            if subject is not None:
                self._take_note(realm.id, subject, now)
            else:
                self._lose(realm.id, kind, id)

    def forget(self, id: str) -> None:
        """A realm is not known any more."""
        realm = self.realms.pop(id, None)
        for subject in () if realm is None else realm.subjects():
            self._lose(id, kind_of(subject), subject.id)

    def _lose(self, realm: str, kind: Kind, id: str) -> None:
        """Something is no more, unless it has moved elsewhere by now."""
        if self._where.get((kind, id)) != realm:
            return
        del self._where[kind, id]
        self._deadlines.pop((kind, id), None)
        if kind == "host":
            self.heard.pop(id, None)
            self._watches.pop(id, None)
            for members in self._members.values():
                members.discard(id)

    def _take_note(self, realm: str, subject: Cluster | Host | InfraEnv, now: datetime) -> None:
        kind: Kind = "infra-env"
        if isinstance(subject, Host):
            kind = "host"
            self._members.setdefault(subject.infra_env_id, set()).add(subject.id)
            if subject.id not in self.heard:
                self.heard[subject.id] = now
                self._watch(subject, now)
        elif isinstance(subject, Cluster):
            kind = "cluster"
        self._where[kind, subject.id] = realm
        waiting = None if isinstance(subject, InfraEnv) else subject.waiting
        until = waiting.until if waiting is not None else None
        if until is None:
            self._deadlines.pop((kind, subject.id), None)
        elif self._deadlines.get((kind, subject.id)) != until:
            self.wait(kind, subject.id, until)

    # Looking

    def realm_of(self, kind: Kind, id: str) -> Realm:
        """The realm that holds something."""
        place = self._where.get((kind, id))
        if place is None:
            raise NotFound(f"{kind} {id} is not there", hint="list what is there")
        return self.realms[place]

    def cluster(self, id: str) -> Cluster:
        """A cluster."""
        found = self.realm_of("cluster", id).cluster
        assert found is not None
        return found

    def has_cluster(self, id: str | None) -> bool:
        """Whether a cluster is there, if one is named at all."""
        return id is None or ("cluster", id) in self._where

    def infra_env(self, id: str) -> InfraEnv:
        """An infra-env."""
        found = self.realm_of("infra-env", id).infra_env
        assert found is not None
        return found

    def host(self, id: str, infra_env_id: str = "") -> Host:
        """A host; if it is of the infra-env that is named."""
        found = self.realm_of("host", id).hosts[id]
        if infra_env_id and found.infra_env_id != infra_env_id:
            raise NotFound(f"host {id} is not in infra-env {infra_env_id}", hint="list its hosts")
        return found

    def find_host(self, id: str) -> Host | None:
        """A host, whichever infra-env it is of."""
        place = self._where.get(("host", id))
        return None if place is None else self.realms[place].hosts[id]

    def clusters(self) -> list[Cluster]:
        """All clusters, the oldest first."""
        found = (realm.cluster for realm in self.realms.values())
        return sorted((each for each in found if each), key=lambda each: (each.created_at, each.id))

    def infra_envs(self) -> list[InfraEnv]:
        """All infra-envs, the oldest first."""
        found = (realm.infra_env for realm in self.realms.values())
        return sorted((each for each in found if each), key=lambda each: (each.created_at, each.id))

    def hosts_of(self, infra_env_id: str) -> list[Host]:
        """The hosts of an infra-env, bound to a cluster or not."""
        found = (self.host(id) for id in self._members.get(infra_env_id, ()))
        return sorted(found, key=lambda host: (host.created_at, host.id))

    def members(self, infra_env_id: str) -> Set[str]:
        """The ids of an infra-env's hosts."""
        return self._members.get(infra_env_id, set())

    # Changing

    def create(self, id: str) -> Realm:
        """A realm that holds nothing yet."""
        return self.realms.setdefault(id, Realm(id))

    def drop_empty(self, id: str) -> None:
        """Forget a realm that nothing came into."""
        if (realm := self.realms.get(id)) is not None and not realm.version:
            del self.realms[id]

    def change(
        self, realm: Realm, decide: Callable[[Draft], T], now: datetime, cause: Cause = NO_CAUSE
    ) -> tuple[Change | None, T]:
        """Decide, react, and take over the outcome; nothing changed, no change."""
        draft = Draft(realm, now, cause)
        answer = decide(draft)
        return self._accept(draft), answer

    def move(
        self, realms: Iterable[Realm], decide: Callable[..., T], now: datetime, cause: Cause = NO_CAUSE
    ) -> tuple[list[Change], T]:
        """A decision about several realms at once: hosts go from the first to others."""
        drafts = [Draft(realm, now, cause) for realm in realms]
        answer = decide(*drafts)
        for draft in drafts:
            self._follow(draft)
        changes = [self._accept(draft, reacted=True) for draft in drafts]
        return [each for each in changes if each is not None], answer

    def _follow(self, draft: Draft) -> None:
        """Do what follows; what was kept to be quick may be half changed when that fails."""
        try:
            self._react(draft)
        except BaseException:
            draft.realm.cache.clear()
            raise

    def _accept(self, draft: Draft, *, reacted: bool = False) -> Change | None:
        if not reacted:
            self._follow(draft)
        if not draft.events and not draft.documents:
            return None
        draft.apply()
        realm = draft.realm
        realm.version += 1
        rows = draft.touched()
        for (kind, id), subject in rows.items():
            if subject is not None:
                self._take_note(realm.id, subject, draft.now)
            else:
                self._lose(realm.id, kind, id)
        return Change(realm.id, realm.version, tuple(draft.events), rows, draft.documents)

    # Time

    def hear(self, host_id: str, now: datetime) -> None:
        """A host is there; one that nobody knows is nobody."""
        if host_id in self.heard:
            self.heard[host_id] = now

    def wait(self, kind: Kind, id: str, until: datetime) -> None:
        """Look at something again at a time."""
        self._deadlines[kind, id] = until
        heapq.heappush(self._timers, (until, kind, id))

    def _watch(self, host: Host, now: datetime) -> None:
        silent_at = self.heard[host.id] + self.patience(host)
        moment = self._watches[host.id] = silent_at if silent_at > now else now + SILENCE
        heapq.heappush(self._timers, (moment, "host", host.id))

    def next_due(self) -> datetime | None:
        """When something is due next."""
        return self._timers[0][0] if self._timers else None

    def due(self, now: datetime) -> list[tuple[Realm, Kind, str]]:
        """What is due: each is looked at once, and waits again if its time has not come after all."""
        found: dict[Key, None] = {}
        while self._timers and self._timers[0][0] <= now:
            moment, kind, id = heapq.heappop(self._timers)
            if self._deadlines.get((kind, id)) == moment:
                del self._deadlines[kind, id]
                found[kind, id] = None
            if kind == "host" and self._watches.get(id) == moment:
                self._watch(self.host(id), now)
                found[kind, id] = None
        return [(self.realm_of(kind, id), kind, id) for kind, id in found]

    def shift(self, delta: timedelta) -> None:
        """The clock was put forward or back: what was so long ago or ahead still is."""
        self.heard = {id: moment + delta for id, moment in self.heard.items()}
        self._watches = {id: moment + delta for id, moment in self._watches.items()}
        self._deadlines = {key: moment + delta for key, moment in self._deadlines.items()}
        self._timers = [(at, kind, id) for (kind, id), at in self._deadlines.items()]
        self._timers += [(at, "host", id) for id, at in self._watches.items()]
        heapq.heapify(self._timers)

    def patience(self, host: Host) -> timedelta:
        """How long a host may be silent."""
        return BOOTSTRAP_SILENCE if host.bootstrap else SILENCE

    def is_silent(self, host: Host, now: datetime) -> bool:
        """Whether a host was not heard of for too long."""
        return now - self.heard.get(host.id, now) >= self.patience(host)
