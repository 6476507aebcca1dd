# SPDX-License-Identifier: Apache-2.0
"""A site that people install: its hosts can meet, and what is not for people to decide is decided.

What it does follows from the state alone, so it can be begun again at any moment.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Final

from muster.clock import Change
from muster.model.meeting import Meeting
from muster.model.wire.host import HostUpdateParams
from muster.model.wire.infra_env import InfraEnvCreateParams
from muster.service.credentials import PASSWORD
from muster.service.decisions.hosts import update_host
from muster.service.decisions.infra_envs import register_infra_env
from muster.service.realm import Draft, Realm
from muster.service.refusals import NotFound, StateConflict, Unavailable
from muster.service.rendezvous.left_behind import LeftBehind
from muster.service.rendezvous.noting import note_rivals, tell_clock
from muster.service.rendezvous.unattended import LOOK_S, FindRivals
from muster.service.service import Service
from muster.service.state import Cluster, Host

NAME: Final = "hosts"
"""Of the one infra-env."""
_AGAIN_S: Final = 10.0
_OPEN: Final = frozenset({"insufficient", "pending-for-input", "ready"})


class Attended:
    """Looks after the one cluster, after everything that happened."""

    def __init__(
        self,
        service: Service,
        meeting: Meeting,
        admit: Callable[[str], None],
        clock: Change | None = None,
        look_s: float = LOOK_S,
    ) -> None:
        self._service, self._meeting, self._admit, self._clock = service, meeting, admit, clock
        self._look_s = look_s
        self._left_behind = LeftBehind(service, meeting.cluster_id)
        self._admitted: datetime | None = None
        """Which cluster's password lets people in: the one that was made at this time."""

    async def run(self) -> None:
        """Go on until cancelled."""
        await self._create()
        self._service.on_stranger = self._left_behind.note
        self._left_behind.resume()
        await self._look()
        async for _ in self._service.news.follow():
            try:
                await self._look()
            except Unavailable:
                await asyncio.sleep(_AGAIN_S)

    async def _create(self) -> None:
        """The infra-env where hosts appear, if an earlier life of the service did not make it."""
        service, id = self._service, self._meeting.infra_env_id

        def make(draft: Draft) -> None:
            params = InfraEnvCreateParams(name=NAME, pull_secret="", rendezvous_ip=str(self._meeting.ip))
            made = register_infra_env(draft, id, params, None, service.around.vault.seal)
            draft.change(made, signing_key=service.around.chance(16).hex())

        try:
            service.engine.infra_env(id)
        except NotFound:
            await service.change(lambda: service.engine.create(id), make)

    @property
    def _realm(self) -> Realm:
        return self._service.engine.realm_of("cluster", self._meeting.cluster_id)

    @property
    def _cluster(self) -> Cluster | None:
        has = self._service.engine.has_cluster(self._meeting.cluster_id)
        return self._service.engine.cluster(self._meeting.cluster_id) if has else None

    async def _look(self) -> None:
        """Do what is next; without a cluster, hosts only wait."""
        cluster = self._cluster
        if cluster is None:
            return
        with contextlib.suppress(NotFound):  # Somebody starts over at this moment.
            if (change := self._clock) is not None:
                await self._service.change(lambda: self._realm, lambda draft: tell_clock(draft, change))
                self._clock = None
            await self._left_behind.welcome()
            for host in list(self._realm.hosts.values()):
                await self._settle_role(host)
            await self._share_time(cluster)
            await self._let_in(cluster)

    async def _settle_role(self, host: Host) -> None:
        """The host that the service runs on is of the control plane, whatever is best for the others."""
        if host.role == "master" or not self._service.around.house.is_rendezvous(host):
            return
        params = HostUpdateParams(host_role="master")
        seal = self._service.around.vault.seal

        def decide(draft: Draft) -> None:
            present = draft.hosts.get(host.id)
            if present is not None:
                update_host(draft, present, params, seal)
                draft.change(draft.hosts[host.id], role_reason="it is the rendezvous host")

        with contextlib.suppress(StateConflict):  # It is being installed: its role is settled.
            await self._service.change(lambda: self._realm, decide)

    async def _share_time(self, cluster: Cluster) -> None:
        """Where no time server is named, the other hosts take the time from this one."""
        own = str(self._meeting.ip)
        infra_env = self._service.engine.infra_env(self._meeting.infra_env_id)
        named = cluster.additional_ntp_source or cluster.ntp_sources
        wanted = own if not named and cluster.control_plane_count > 1 else ""
        if cluster.status in _OPEN and infra_env.additional_ntp_sources != wanted:
            await self._service.change(
                lambda: self._service.engine.realm_of("infra-env", infra_env.id),
                lambda draft: draft.change(draft.infra_env, additional_ntp_sources=wanted),
            )

    async def _let_in(self, cluster: Cluster) -> None:
        """Whoever has the credentials can log in with them: after the restart nobody sees a code any more."""
        if not cluster.access_for or self._admitted == cluster.created_at:
            return
        store, vault = self._service.store, self._service.around.vault
        sealed = await asyncio.to_thread(store.document, cluster.id, cluster.id, f"file/{PASSWORD}")
        if sealed is not None:
            password = vault.open(cluster.id, PASSWORD, sealed.decode()).strip()
            await asyncio.to_thread(self._admit, password)
            self._admitted = cluster.created_at

    async def watch_rivals(self, find: FindRivals) -> None:
        """Look again and again whether others have the rendezvous IP, until cancelled."""
        while True:
            rivals, cluster = await find(), self._cluster
            if cluster is not None and cluster.rivals is not None and rivals != cluster.rivals:
                with contextlib.suppress(NotFound, Unavailable):
                    await self._service.change(lambda: self._realm, partial(note_rivals, rivals))
            await asyncio.sleep(self._look_s)
