# SPDX-License-Identifier: Apache-2.0
"""A site that installs itself: makes its cluster, tells hosts what they are to be, starts when all are well.

What it does follows from the state alone, so it can be begun again at any moment.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from typing import Final, TypeAlias

from muster.clock import Change
from muster.errors import MusterError
from muster.frozen import dataclass
from muster.model.meeting import PLATFORM, Meeting
from muster.model.wire.cluster import ClusterCreateParams
from muster.model.wire.infra_env import InfraEnvCreateParams
from muster.model.wire.inventory import Disk, Inventory
from muster.model.wire.operators import MonitoredOperator
from muster.service.decisions.clusters import register_cluster
from muster.service.decisions.hosts import update_host
from muster.service.decisions.infra_envs import register_infra_env
from muster.service.decisions.installing import begin_installation
from muster.service.derive.names import effective_name
from muster.service.realm import Draft, Realm
from muster.service.refusals import NotFound, StateConflict, Unavailable
from muster.service.rendezvous.left_behind import LeftBehind
from muster.service.rendezvous.noting import note_release, note_rivals, tell_clock
from muster.service.service import Service
from muster.service.site_order import Wish, find_wish
from muster.service.state import AddOn, Cluster, Host, ReleaseSight

ATTEMPTS: Final = 3
"""So often an installation is begun that does not come to writing a disk."""
_AGAIN_S: Final = 10.0
LOOK_S: Final = 15.0
"""How often is looked who else has the rendezvous IP."""
FindRivals: TypeAlias = Callable[[], Awaitable[tuple[str, ...]]]
"""Who else answers at the rendezvous IP: their MACs."""


@dataclass(frozen=True)
class Course:
    """What a site asks for."""

    meeting: Meeting
    cluster: ClusterCreateParams
    infra_env: InfraEnvCreateParams
    wishes: tuple[Wish, ...]
    expected: int
    """How many hosts have to be there."""
    on_top: tuple[str, ...] = ()
    """What the cluster gets besides, by name: it is waited for, but does not fail the cluster."""


def is_complete(realm: Realm, expected: int) -> bool:
    """Whether all hosts and the release are there, and the cluster can be installed."""
    cluster = realm.cluster
    if cluster is None or (cluster.release is not None and not cluster.release.is_here):
        return False
    return cluster.status == "ready" and len(realm.hosts) >= expected


Seen: TypeAlias = tuple[datetime, tuple[Disk, ...]]
"""What of a host decides what the site's files mean for it: when it came, and its disks."""


class Unattended:
    """Asks the service for what is next, after everything that happened."""

    def __init__(
        self, service: Service, course: Course, clock: Change | None = None, look_s: float = LOOK_S
    ) -> None:
        self._service, self._course, self._clock, self._look_s = service, course, clock, look_s
        self._applied: dict[str, Seen] = {}
        """For which hosts, as they were then, the files were applied in this life of the service."""
        self._left_behind = LeftBehind(service, course.meeting.cluster_id)
        self._created = asyncio.Event()
        self._attempts = 0

    async def run(self) -> None:
        """Go on until cancelled."""
        await self.create()
        self._created.set()
        self._service.on_stranger = self._left_behind.note
        self._left_behind.resume()
        if (change := self._clock) is not None:
            await self._service.change(lambda: self._realm, lambda draft: tell_clock(draft, change))
        await self._look()
        async for _ in self._service.news.follow():
            try:
                await self._look()
            except Unavailable:
                await asyncio.sleep(_AGAIN_S)

    @property
    def _realm(self) -> Realm:
        return self._service.engine.realm_of("cluster", self._course.meeting.cluster_id)

    async def create(self) -> None:
        """The cluster and infra-env of the medium, if an earlier life of the service did not make them."""
        service, course, ids = self._service, self._course, self._course.meeting
        seal = service.around.vault.seal

        def make_cluster(draft: Draft) -> None:
            made = register_cluster(draft, ids.cluster_id, course.cluster, seal)
            # The site has its kubeconfig since its medium was made.
            watched = _watched(made.id, course.on_top)
            draft.change(
                made,
                monitored_operators=watched,
                kubeconfig_given=True,
                rivals=(),
                release=ReleaseSight(),
                strangers={},
            )

        def make_infra_env(draft: Draft) -> None:
            cluster = service.engine.cluster(ids.cluster_id)
            made = register_infra_env(draft, ids.infra_env_id, course.infra_env, cluster, seal)
            draft.change(made, signing_key=service.around.chance(16).hex())

        try:
            await self._note_release(ReleaseSight())
        except NotFound:
            await service.change(lambda: service.engine.create(ids.cluster_id), make_cluster)
        try:
            service.engine.infra_env(ids.infra_env_id)
        except NotFound:
            await service.change(lambda: service.engine.create(ids.infra_env_id), make_infra_env)

    async def note_release(self, add_ons: tuple[AddOn, ...]) -> None:
        """The release is here, and told what the chosen add-ons take: hosts have to have it."""
        await self._created.wait()
        await self._note_release(ReleaseSight(is_here=True), add_ons)

    async def note_no_release(self, trouble: str) -> None:
        """The release cannot be fetched now: nothing is installed while that is so."""
        await self._created.wait()
        await self._note_release(ReleaseSight(trouble=trouble))

    async def _note_release(self, found: ReleaseSight, add_ons: tuple[AddOn, ...] | None = None) -> None:
        chosen = self._cluster.add_ons if add_ons is None else add_ons
        await self._service.change(lambda: self._realm, partial(note_release, found, chosen))

    async def watch_rivals(self, find: FindRivals) -> None:
        """Look again and again whether others have the rendezvous IP, until cancelled."""
        await self._created.wait()
        while True:
            rivals = await find()
            if rivals != self._cluster.rivals:
                await self._service.change(lambda: self._realm, partial(note_rivals, rivals))
            await asyncio.sleep(self._look_s)

    @property
    def _cluster(self) -> Cluster:
        return self._service.engine.cluster(self._course.meeting.cluster_id)

    async def _look(self) -> None:
        """Do what is next."""
        await self._left_behind.welcome()
        for host in list(self._realm.hosts.values()):
            if host.inventory is None:
                continue
            seen = (host.registered_at, host.inventory.disks or ())
            if self._applied.get(host.id) != seen:
                self._applied[host.id] = seen
                await self._apply(host, host.inventory)
        if self._attempts < ATTEMPTS and is_complete(self._realm, self._course.expected):
            self._attempts += 1
            rendezvous = str(self._course.meeting.ip)
            with contextlib.suppress(StateConflict):  # Something changed at the last moment: look again.
                await self._service.change(
                    lambda: self._realm, lambda draft: begin_installation(draft, rendezvous)
                )

    async def _apply(self, host: Host, inventory: Inventory) -> None:
        """Tell a host what the files say of it; what it cannot be stops the installation until it can."""
        wish = find_wish(self._course.wishes, inventory)
        if wish is None:
            return
        seal = self._service.around.vault.seal

        def decide(draft: Draft) -> None:
            present = draft.hosts.get(host.id)
            if present is not None:
                update_host(draft, present, wish.params_with(disks), seal)
                _note_fault(draft, present, fault)

        disks, fault = None, ""
        try:
            disks = wish.disks(inventory)
        except MusterError as error:
            fault = error.message
        try:
            await self._service.change(lambda: self._realm, decide)
        except StateConflict:
            return  # It is being installed already: an earlier life of the service told it.
        except MusterError as error:
            fault = error.message
            await self._service.change(lambda: self._realm, lambda draft: _stop(draft, host.id, fault))


def _watched(cluster_id: str, on_top: tuple[str, ...]) -> tuple[MonitoredOperator, ...]:
    own = MonitoredOperator(cluster_id=cluster_id, name=PLATFORM, operator_type="builtin")
    more = (MonitoredOperator(cluster_id=cluster_id, name=name, operator_type="olm") for name in on_top)
    return (own, *more)


def _stop(draft: Draft, host_id: str, fault: str) -> None:
    host = draft.hosts.get(host_id)
    if host is not None:
        _note_fault(draft, host, fault)


def _note_fault(draft: Draft, host: Host, fault: str) -> None:
    """Why a host cannot be what the files say; nothing when it can."""
    if fault and host.site_fault != fault:
        name = effective_name(draft.hosts[host.id]) or host.id
        text = f"Host {name}: the installation waits: {fault}"
        draft.tell(host, "site_not_applied", text, severity="error")
    draft.change(host, site_fault=fault)
