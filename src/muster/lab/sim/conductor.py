# SPDX-License-Identifier: Apache-2.0
"""Those who ask for an installation: what applies a site's files, and what runs in a cluster that comes up.

Both look at the service after everything that it did, and ask it for what is next, as their real models do
over the network. What is refused for the moment is asked for again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final

import msgspec

from muster.errors import MusterError
from muster.lab.sim.clock import Scheduler
from muster.lab.sim.in_process import InProcess
from muster.lab.sim.port import Refused, Unreachable
from muster.lab.sim.stand_ins import INGRESS
from muster.model.wire.cluster import ClusterCreateParams
from muster.model.wire.infra_env import InfraEnvCreateParams
from muster.service.realm import Event, Realm
from muster.service.site_order import Wish, find_wish
from muster.service.state import Host

_LOOK_S: Final = 1.0
"""How long it takes until something new is noticed."""
_AGAIN_S: Final = 10.0
_ANEW_S: Final = 60.0
"""Before an installation that did not begin is asked for again."""
ATTEMPTS: Final = 3
"""So often an installation is asked for that does not begin."""
_LATER: Final = frozenset({0, 409, 429, 503})


class Asker:
    """Asks the service for something until it is done, or will never be."""

    def __init__(self, service: InProcess, scheduler: Scheduler) -> None:
        self.service, self.scheduler = service, scheduler

    def ask(
        self, what: str, body: Any = None, *, then: Callable[[Any], None] = lambda _: None, **ids: str
    ) -> None:
        """Ask soon, and again later when it cannot be done now."""

        def act(_: float) -> None:
            try:
                answer = self.service.ask(what, body, **ids)
            except Refused as error:
                if error.status not in _LATER:
                    raise
                self.scheduler.after(_AGAIN_S, act)
            except Unreachable:
                self.scheduler.after(_AGAIN_S, act)
            else:
                then(answer)

        self.scheduler.after(_LOOK_S, act)


class Conductor:
    """Makes the cluster, tells each host what it is to be, and starts when all are there and well."""

    def __init__(self, asker: Asker, wishes: tuple[Wish, ...], expected: int) -> None:
        self._asker, self._wishes, self._expected = asker, wishes, expected
        self.cluster_id = ""
        self.attempts = 0
        """How often the installation was asked for."""
        self.refusals: dict[str, MusterError] = {}
        """What the files ask for that a host cannot be, by host id."""
        self._applied: dict[str, object] = {}
        self._asking = False

    def create(self, cluster: ClusterCreateParams, make: Callable[[str], InfraEnvCreateParams]) -> None:
        """Make the cluster and the place where its hosts register."""
        service = self._asker.service
        reply = service.ask("v2RegisterCluster", cluster)
        self.cluster_id = msgspec.json.decode(reply.body)["id"]
        reply = service.ask("RegisterInfraEnv", make(self.cluster_id))
        service.infra_env_id = msgspec.json.decode(reply.body)["id"]
        service.watch(self.look)

    @property
    def realm(self) -> Realm:
        """The cluster and its hosts."""
        return self._asker.service.service.engine.realms[self.cluster_id]

    def look(self, events: Sequence[Event] = ()) -> None:
        """Do what is next."""
        realm = self.realm
        told = (event.id for event in events if event.kind == "host" and "inventory" in event.values)
        for id in dict.fromkeys(told):
            host = realm.hosts.get(id)
            if host and host.inventory is not None and self._applied.get(id) != host.registered_at:
                self._applied[id] = host.registered_at
                self._apply(host)
        if self._asking or not self._is_ready(realm):
            return
        self._asking = True
        self.attempts += 1
        delay = _LOOK_S if self.attempts == 1 else _ANEW_S
        self._asker.scheduler.after(delay, lambda _: self._start())

    def _apply(self, host: Host) -> None:
        assert host.inventory is not None
        wish = find_wish(self._wishes, host.inventory)
        if wish is None:
            return
        try:
            params = wish.params(host.inventory)
        except MusterError as error:
            self.refusals[host.id] = error
            return
        self.refusals.pop(host.id, None)
        self._asker.ask("v2UpdateHost", params, infra_env_id=host.infra_env_id, host_id=host.id)

    def _is_ready(self, realm: Realm) -> bool:
        cluster = realm.cluster
        return (
            cluster is not None
            and cluster.status == "ready"
            and len(realm.hosts) >= self._expected
            and not self.refusals
            and self.attempts < ATTEMPTS
        )

    def _start(self) -> None:
        """Ask for it; when it cannot begin after all, look again in a while."""
        self._asking = False
        try:
            self._asker.service.ask("v2InstallCluster", cluster_id=self.cluster_id)
        except (Refused, Unreachable):
            self.attempts -= 1
            self._asker.scheduler.after(_AGAIN_S, lambda _: self.look())


class Controller:
    """What runs in a cluster that comes up, and tells when it is there."""

    def __init__(self, asker: Asker, cluster_id: str, random: Random) -> None:
        self._asker, self._cluster_id, self._random = asker, cluster_id, random
        self._is_there = False
        asker.service.watch(self.look)

    def look(self, _: Sequence[Event]) -> None:
        """Begin when all hosts are in the cluster."""
        realm = self._asker.service.service.engine.realms[self._cluster_id]
        if not self._is_there and realm.cluster is not None and realm.cluster.status == "finalizing":
            self._is_there = True
            operators = [each.name for each in realm.cluster.monitored_operators]
            self._tell("v2UpdateClusterFinalizingProgress", {"finalizing_stage": _STAGES[0]})
            for name in operators:
                seconds = 120.0 + 240.0 * self._random.random()
                self._later(seconds, lambda name=name: self._operator(name, operators))  # type: ignore[misc]

    def _operator(self, name: str | None, waiting: list[str | None]) -> None:
        waiting.remove(name)
        report = {"name": name, "status": "available", "status_info": "it is up"}
        after = (lambda _: None) if waiting else (lambda _: self._wind_up())
        self._tell("v2ReportMonitoredOperatorStatus", report, after)

    def _wind_up(self) -> None:
        done = {"is_success": True}
        complete = lambda _: self._tell("v2CompleteInstallation", done)  # noqa: E731
        ingress = lambda _: self._tell("v2UploadClusterIngressCert", INGRESS, complete)  # noqa: E731
        self._tell("v2UpdateClusterFinalizingProgress", {"finalizing_stage": _STAGES[1]}, ingress)

    def _tell(self, what: str, body: Any, then: Callable[[Any], None] = lambda _: None) -> None:
        self._asker.ask(what, body, then=then, cluster_id=self._cluster_id)

    def _later(self, seconds: float, call: Callable[[], None]) -> None:
        self._asker.scheduler.after(seconds, lambda _: call())


_STAGES: Final = ("Waiting for cluster operators", "Adding router ca")
