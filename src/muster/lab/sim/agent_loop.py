# SPDX-License-Identifier: Apache-2.0
"""The agent's loop around a modelled host: what to send next and when, without sending anything itself.

Whoever drives it asks `due` for the next moment, takes the requests of that moment with `take`, sends them,
and hands back what came of each with `got`. Steps run beside each other, but only one of a kind at a time;
what fails is tried again, later and later, and never at the same moment as by all other hosts.
"""

from __future__ import annotations

from collections import Counter, deque
from random import Random
from typing import Final, Literal, TypeAlias

import msgspec

from muster.lab.sim.agenda import Agenda, Backoff
from muster.lab.sim.answer import Answer
from muster.lab.sim.host import SimHost
from muster.lab.sim.port import (
    NOTHING,
    Got,
    Poll,
    Register,
    Reply,
    Report,
    Request,
    SendLogs,
    TellLogs,
)
from muster.model.wire.enums import StepType
from muster.model.wire.host import HostProgress
from muster.model.wire.reports import StepReply
from muster.model.wire.steps import Step, Steps

Phase: TypeAlias = Literal["off", "registering", "polling", "booting", "installed", "frozen", "silent"]
"""``booting`` is a host on its way from its disk into the cluster, ``frozen`` an agent that the service has
turned away for good, ``silent`` a host that is lost."""

FATAL: Final = frozenset({401, 403, 404, 409})
"""What a registration does not get over."""
_AGAIN: Final = frozenset({0, 408, 425, 429, 500, 502, 503, 504})
_GUARDED: Final = frozenset({"installation-disk-speed-check", "container-image-availability"})
"""Steps whose second copy says at once, and with nothing, that the first one is still going on."""
_LOGS: Final = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00"


class Settings(msgspec.Struct, frozen=True):
    """The habits of an agent, in seconds."""

    waits: float = 1.0
    """What every wait that is not the work of the host is multiplied with."""
    poll_s: float = 60.0
    """Until the next poll when the service does not say."""
    least_s: float = 0.1
    """Between two polls, whatever the service says."""
    give_up_s: float = 900.0
    """For how long polls may fail before the agent registers anew."""
    remember_s: float = 3600.0
    """For how long the same reply is not sent a second time."""
    restart_s: float = 2.0
    returns: bool = False
    """Whether it registers again when the service does not know it any more, as Muster's own agent does."""
    reply_tries: int = 4
    report_tries: int = 360


class _Work(msgspec.Struct, frozen=True):
    """Something that the host will have done by a moment."""

    answer: Answer
    step: Step | None = None


class _Tell(msgspec.Struct, frozen=True):
    """A stage that will be reached."""

    progress: HostProgress


class _Proceed(msgspec.Struct, frozen=True):
    """The installation has to be asked how it goes on."""


class _Power(msgspec.Struct, frozen=True):
    """The power may come or go."""


_Event: TypeAlias = Register | Poll | Reply | Report | TellLogs | SendLogs | _Work | _Tell | _Proceed | _Power
_STEPS: Final = (Poll, Register, Reply, _Work)
_REQUESTS: Final = (Register, Poll, Reply, Report, TellLogs, SendLogs)


class AgentLoop:
    """One host's conversation with the service."""

    def __init__(self, host: SimHost, random: Random, settings: Settings | None = None) -> None:
        self.host = host
        self.phase: Phase = "off"
        self.counts: Counter[str] = Counter()
        """What was sent, and what was given up."""
        self._random = random
        self._settings = settings or Settings()
        self._agenda: Agenda[_Event] = Agenda()
        self._backoff = Backoff(random)
        self._running: set[StepType | None] = set()
        self._said: dict[StepType | None, tuple[str | None, float]] = {}
        self._reports: deque[HostProgress] = deque()
        self._asked: Request | None = None
        """The registration or poll whose answer is awaited."""
        self._failing_since: float | None = None
        self._held: list[tuple[float, _Event]] = []

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes from the host."""
        return self.phase in ("installed", "frozen", "silent")

    def start(self, moment: float) -> None:
        """The machine is switched on and has booted its medium at this moment."""
        for change in self.host.power_changes():
            self._agenda.push(max(change, moment), _Power())
        if self.host.is_on(moment):
            self._register_at(moment)

    def due(self) -> float | None:
        """When there is something to do; None when only the service, or nobody, can change that."""
        return self._agenda.due()

    def take(self, now: float) -> list[Request]:
        """Do what is due, and give what is to be sent."""
        sent: list[Request] = []
        while (event := self._agenda.pop(now)) is not None:
            if isinstance(event, _REQUESTS):
                self._send(event, now, sent)
            elif isinstance(event, _Tell):
                self._tell(event.progress, now)
            elif isinstance(event, _Proceed):
                self._follow(self.host.proceed(now), None, now)
            elif isinstance(event, _Power):
                self._switch(now)
            else:
                self._finish(event, now)
        return sent

    def wake(self, now: float) -> None:
        """Ask the service now, and not when the next poll would be."""
        for _, event in self._agenda.keep(lambda event: not isinstance(event, Poll)):
            self._agenda.push(now, event)

    def got(self, request: Request, got: Got, now: float) -> None:
        """What came of a request."""
        if isinstance(request, Register | Poll):
            if request is not self._asked:
                return
            self._asked = None
            if isinstance(request, Register):
                self._registered(got, now)
            else:
                self._polled(got, now)
        elif isinstance(request, Reply):
            self._replied(request, got, now)
        elif isinstance(request, Report):
            self._reported(request, got, now)

    def _send(self, request: Request, now: float, sent: list[Request]) -> None:
        if isinstance(request, Register | Poll):
            if isinstance(request, Poll):
                request = Poll(self.host.clock_offset_s(now))
            self._asked = request
        self.counts[type(request).__name__] += 1
        if self.host.reaches_service(now):
            sent.append(request)
        else:
            self.got(request, NOTHING, now)

    def _register_at(self, moment: float) -> None:
        self.phase = "registering"
        self._agenda.push(moment, Register(self.host.register_params()))

    def _registered(self, got: Got, now: float) -> None:
        if got.is_ok:
            self._backoff.reset()
            self._failing_since = None
            self.phase = "polling"
            self._agenda.push(now, Poll())
        elif got.status in FATAL:
            self._freeze()
        else:
            self._register_at(now + self._later(got))

    def _later(self, got: Got) -> float:
        return max(self._backoff.next_s(), got.retry_s) * self._settings.waits

    def _freeze(self) -> None:
        """The service will not have it: a real agent logs one line, and then nothing, for ever."""
        self.phase = "frozen"
        self._agenda.keep(lambda _: False)

    def _polled(self, got: Got, now: float) -> None:
        if got.is_ok and got.steps is not None:
            self._backoff.reset()
            self._failing_since = None
            self._obey(got.steps, now)
        elif got.status == 404 and self._settings.returns:
            self._restart(now)
        elif got.status == 404:
            self._freeze()
        else:
            self._said.clear()
            self._failing_since = now if self._failing_since is None else self._failing_since
            if now - self._failing_since > self._settings.give_up_s * self._settings.waits:
                self._restart(now)
            else:
                self._agenda.push(now + self._later(got), Poll())

    def _obey(self, steps: Steps, now: float) -> None:
        for step in steps.instructions or ():
            self._begin(step, now)
        if steps.post_step_action == "exit":
            self._restart(now)
            return
        seconds = steps.next_instruction_seconds
        wait = self._settings.poll_s if seconds is None else max(seconds, self._settings.least_s)
        self._agenda.push(now + wait * self._settings.waits, Poll())

    def _begin(self, step: Step, now: float) -> None:
        """Begin a step, unless one of its kind is still going on."""
        if step.step_type in self._running:
            if step.step_type in _GUARDED:
                self._agenda.push(now, Reply(StepReply(step_type=step.step_type, step_id=step.step_id)))
            return
        answer = self.host.answer(step, now)
        if answer.stops:
            self._agenda.keep(lambda event: not isinstance(event, _Tell | _Proceed))
        if step.step_type != "install":
            self._running.add(step.step_type)
        if answer.logs is not None:
            self._agenda.push(now, TellLogs("collecting"))
        self._follow(answer, step, now)

    def _follow(self, answer: Answer, step: Step | None, now: float) -> None:
        """Enter what comes of an answer."""
        for each in answer.progress:
            progress = HostProgress(current_stage=each.stage, progress_info=each.info or None)
            self._agenda.push(now + each.after_s, _Tell(progress))
        if answer.again_s is not None:
            self._agenda.push(now + answer.again_s, _Proceed())
        if step is not None or answer.reply or answer.then or answer.leaves:
            self._agenda.push(now + answer.duration_s, _Work(answer, step))

    def _finish(self, work: _Work, now: float) -> None:
        """A step is done."""
        answer = work.answer
        if work.step is not None:
            self._running.discard(work.step.step_type)
        if answer.logs is not None:
            self._agenda.push(now, SendLogs(answer.logs.cluster_id, _LOGS))
            self._agenda.push(now, TellLogs("completed"))
        if answer.reply is not None and not self._is_known(answer.reply, now):
            self._agenda.push(now, Reply(answer.reply))
        if answer.leaves:
            self._leave()
        elif answer.then == "restart":
            self._restart(now)
        elif answer.then == "reboot":
            self._boot(now)
        elif answer.then == "silence":
            self.host.vanish(now)
            self.phase = "silent"
            self._agenda.keep(lambda event: isinstance(event, Report))

    def _is_known(self, reply: StepReply, now: float) -> bool:
        """Whether the service was told the same not long ago."""
        if reply.exit_code or not reply.output:
            return False
        said, moment = self._said.get(reply.step_type, (None, 0.0))
        remember = self._settings.remember_s * self._settings.waits
        return said == reply.output and now - moment < remember

    def _leave(self) -> None:
        """The host boots from its disk: there is no agent on it any more."""
        if self.phase == "polling":
            self.phase = "booting"
            self._asked = None
            self._agenda.keep(lambda event: not isinstance(event, Poll | Register))

    def _restart(self, now: float) -> None:
        """The agent ends and registers anew; an installation goes on without it."""
        self._agenda.keep(lambda event: not isinstance(event, _STEPS) or _is_reply_of_install(event))
        self._running.clear()
        self._said.clear()
        self._register_at(now + self._settings.restart_s * self._settings.waits)

    def _boot(self, now: float) -> None:
        """The host starts from its medium again."""
        self._agenda.keep(lambda event: isinstance(event, _Power))
        self._running.clear()
        self._said.clear()
        self._reports.clear()
        self._asked = None
        self._register_at(now + self.host.boot())

    def _switch(self, now: float) -> None:
        """The power has come or gone, or neither."""
        is_on = self.host.is_on(now)
        if is_on and self.phase == "off":
            if self._held:
                self.phase = "booting"
                back = now + self.host.resume(now)
                for delay, event in self._held:
                    self._agenda.push(back + delay, event)
                self._held = []
            else:
                self._boot(now)
        elif not is_on and not self.is_over and self.phase != "off":
            lost = self._agenda.keep(lambda event: isinstance(event, _Power))
            if self.phase == "booting":
                self._held = [(moment - now, event) for moment, event in lost]
            self.host.vanish(now)
            self.phase = "off"
            self._asked = None

    def _replied(self, request: Reply, got: Got, now: float) -> None:
        reply = request.reply
        if got.is_ok:
            if not reply.exit_code and reply.output:
                self._said[reply.step_type] = (reply.output, now)
        elif got.status in _AGAIN and request.tries + 1 < self._settings.reply_tries:
            self._agenda.push(now + self._soon(), Reply(reply, request.tries + 1))
        else:
            self.counts["dropped"] += 1

    def _soon(self) -> float:
        return self._random.uniform(2.0, 10.0) * self._settings.waits

    def _tell(self, progress: HostProgress, now: float) -> None:
        if progress.current_stage is not None:
            self.host.reach(progress.current_stage, now)
        self._reports.append(progress)
        if len(self._reports) == 1:
            self._agenda.push(now, Report(progress))

    def _reported(self, request: Report, got: Got, now: float) -> None:
        """Stages are told one after another, so that none overtakes another."""
        if self.phase == "silent" or not self._reports or self._reports[0] is not request.progress:
            return
        if not got.is_ok and got.status in _AGAIN and request.tries + 1 < self._settings.report_tries:
            self._agenda.push(now + self._soon(), Report(request.progress, request.tries + 1))
            return
        if not got.is_ok:
            self.counts["dropped"] += 1
        self._reports.popleft()
        if self._reports:
            self._agenda.push(now, Report(self._reports[0]))
        elif self.host.is_done and self.phase == "booting":
            self.phase = "installed"


def _is_reply_of_install(event: _Event) -> bool:
    if isinstance(event, _Work):
        return event.step is None
    return isinstance(event, Reply) and event.reply.step_type == "install"
