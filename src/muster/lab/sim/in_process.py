# SPDX-License-Identifier: Apache-2.0
"""The real service in this process on a modelled clock: its engine, its decisions and its own answers.

    service = InProcess(Terms(scheduler, random, driver))
    cluster = service.ask("v2RegisterCluster", body=params)     # what a person asks
    service.instructions(host_id, timestamp)                    # what a modelled host asks

A host that would wait for its answer is told when to come again, and woken when there is one before that.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime
from random import Random
from typing import Any, Final, TypeVar

import msgspec

from muster.errors import MusterError
from muster.frozen import dataclass
from muster.lab.sim.clock import Appointment, Scheduler
from muster.lab.sim.port import Refused, Unreachable
from muster.lab.sim.shell import Bell, ClockBackground, InlineCommitter, finish
from muster.lab.sim.stand_ins import NoLinks, NoMedia, NoTokens, OpenVault
from muster.model.wire.host import (
    HostCreateParams,
    HostProgress,
    HostRegistrationResponse,
    LogsProgressParams,
)
from muster.model.wire.reports import StepReply
from muster.model.wire.steps import Steps
from muster.service.api import agents, clusters, hosts, infra_envs, installing, logs
from muster.service.api.call import OPERATIONS, Call
from muster.service.engine import Engine
from muster.service.offers import Offers
from muster.service.polling import Poll, answer_poll, has_something
from muster.service.react import react, time_passed
from muster.service.realm import Event
from muster.service.refusals import NotFound, code_of
from muster.service.release_driver import ReleaseDriver
from muster.service.service import Service
from muster.service.store.memory import MemoryStore
from muster.service.store.port import Store
from muster.service.surroundings import Surroundings

T = TypeVar("T")
ANSWERS: Final = (agents, clusters, hosts, infra_envs, installing, logs)
"""What answers the operations that hosts and people of a model ask for."""
HELD_S: Final = 60.0
"""How long a host waits for its answer before it asks again."""
_WORK_S: Final = 2.0
"""How long it takes to make the files of a cluster."""
_LATE_S: Final = 2e-6
"""A deadline is looked at when it has passed, however its moment was rounded."""
_ENCODER: Final = msgspec.json.Encoder()
_REGISTERED: Final = msgspec.json.Decoder(HostRegistrationResponse)


@dataclass(frozen=True)
class Terms:
    """What a service in a model is given."""

    scheduler: Scheduler
    random: Random
    driver: ReleaseDriver
    store: Store = field(default_factory=MemoryStore)


class InProcess:
    """The service, as hosts and people see it."""

    def __init__(self, terms: Terms, wake: Callable[[str], None] = lambda _: None) -> None:
        self.infra_env_id = ""
        """Where hosts register."""
        self.is_up = True
        self.wake = wake
        self._terms = terms
        self._timer: Appointment | None = None
        self._watchers: list[Callable[[Sequence[Event]], None]] = []
        self._seen = 0
        self.service = self._start()

    # The process

    def _start(self) -> Service:
        terms = self._terms
        self._background = ClockBackground(terms.scheduler, _WORK_S, self._done)
        engine = Engine(react)
        engine.load(terms.store.load(), self.now())
        around = Surroundings(
            clock=self.now,
            chance=terms.random.randbytes,
            vault=OpenVault(),
            driver=terms.driver,
            media=NoMedia(),
            links=NoLinks(),
            host_tokens=NoTokens(),
            offers=Offers(),
            time_passed=time_passed,
            background=self._background,
        )
        news = Bell(self._wake)
        return Service(engine, terms.store, InlineCommitter(terms.store), around, news)

    def close(self) -> None:
        """Nothing more happens; what is known can still be looked at."""
        finish(self._background.end())

    def kill(self) -> None:
        """The process ends at once: all that is not in the store is lost."""
        self.is_up = False
        self.close()
        if self._timer is not None:
            self._timer.cancel()

    def restart(self) -> None:
        """Begin again with what the store has."""
        self.service = self._start()
        self.is_up = True
        self.service.preparer.look_at_all()
        self._done()

    def _wake(self, host_id: str) -> None:
        """A host that waits is answered only when there is something to do."""
        try:
            host = self.service.engine.host(host_id)
        except NotFound:
            return
        if has_something(self.service, host):
            self.wake(host_id)

    def watch(self, look: Callable[[Sequence[Event]], None]) -> None:
        """Call somebody after everything that the service did, with what is new in its log."""
        self._watchers.append(look)

    def now(self) -> datetime:
        """The time."""
        return datetime.fromtimestamp(self._terms.scheduler.now, UTC)

    def _done(self) -> None:
        """The service has done something: its next deadline may be another one now."""
        due = self.service.engine.next_due()
        moment = None if due is None else max(due.timestamp() + _LATE_S, self._terms.scheduler.now)
        if self._timer is not None and self._timer.is_open:
            if self._timer.moment == moment:
                moment = None
            else:
                self._timer.cancel()
        if moment is not None:
            self._timer = self._terms.scheduler.at(moment, self._pass_time)
        logged = list(self._terms.store.log(after=self._seen))
        if logged:
            self._seen = logged[-1].sequence
            events = [each.event for each in logged]
            for look in self._watchers:
                look(events)

    def _pass_time(self, _: float) -> None:
        finish(self.service.pass_time())
        self._done()

    # What people ask

    def ask(self, operation_id: str, body: Any = None, **ids: str) -> Any:
        """An operation of the interface; `Refused` when it is not done."""
        data = b"" if body is None else _ENCODER.encode(body)
        return self._answer(OPERATIONS[operation_id](self._call(data, ids)))

    def _call(self, body: bytes, ids: Mapping[str, str], query: Mapping[str, str] | None = None) -> Call:
        return Call(self.service, ids, query or {}, {}, body, None)

    def _answer(self, work: Coroutine[Any, Any, T]) -> T:
        if not self.is_up:
            work.close()
            raise Unreachable
        try:
            return finish(work)
        except MusterError as error:
            raise Refused(code_of(error), error.message) from error
        finally:
            self._done()

    # What hosts ask

    def register(self, params: HostCreateParams) -> HostRegistrationResponse:
        reply = self.ask("v2RegisterHost", params, infra_env_id=self.infra_env_id)
        return _REGISTERED.decode(reply.body)

    def instructions(self, host_id: str, timestamp: int) -> Steps:
        return self._answer(self._instructions(host_id, timestamp))

    async def _instructions(self, host_id: str, timestamp: int) -> Steps:
        host = self.service.engine.host(host_id, self.infra_env_id)
        found = await answer_poll(self.service, host, Poll(timestamp, enrolled=True, waits=True))
        await found.hand_out()
        if found.is_worth_it:
            return found.steps
        held = round(found.seconds_to_look(HELD_S))
        return msgspec.structs.replace(found.steps, next_instruction_seconds=held)

    def reply(self, host_id: str, reply: StepReply) -> None:
        self._tell("v2PostStepReply", host_id, reply)

    def progress(self, host_id: str, progress: HostProgress) -> None:
        self._tell("v2UpdateHostInstallProgress", host_id, progress)

    def logs_progress(self, host_id: str, state: LogsProgressParams) -> None:
        self._tell("v2UpdateHostLogsProgress", host_id, state)

    def _tell(self, operation_id: str, host_id: str, body: Any) -> None:
        self.ask(operation_id, body, infra_env_id=self.infra_env_id, host_id=host_id)

    def logs(self, host_id: str, cluster_id: str, archive: bytes) -> None:
        query = {"logs_type": "host", "host_id": host_id}
        self._answer(OPERATIONS["V2UploadLogs"](self._call(archive, {"cluster_id": cluster_id}, query)))
