# SPDX-License-Identifier: Apache-2.0
"""A modelled host: registers, answers every step that a service can hand out, and plays its installation.

It does nothing by itself and knows no time but what it is told, so it runs on a simulated clock and over
sockets alike. The same machine, world and seed give the same answers.
"""

from __future__ import annotations

import math
from random import Random
from typing import Final

import msgspec

from muster.lab.sim.answer import BAD_STEP, MEDIA_GONE, NAME_IN_USE, Answer, Outcome
from muster.lab.sim.answers import CHECKS, BadArguments, Question
from muster.lab.sim.body import Body, Written
from muster.lab.sim.faults import ANY
from muster.lab.sim.install import Installation
from muster.lab.sim.machines import Machine
from muster.lab.sim.world import World
from muster.model.fault import FaultKind
from muster.model.wire.enums import HostStage
from muster.model.wire.host import HostCreateParams
from muster.model.wire.reports import StepReply
from muster.model.wire.steps import InstallCmdRequest, LogsGatherCmdRequest, Step

AGENT_IMAGE: Final = "registry.example.com/agent:latest"


class SimHost:
    """One host."""

    def __init__(self, machine: Machine, world: World, random: Random) -> None:
        self.body = Body(machine, world, random)
        self.id = machine.host_id
        self.name = machine.name
        self.agent_image = AGENT_IMAGE
        self.installation: Installation | None = None
        self.started: dict[str, str] = {}
        """The installations that were begun: the disk of each, by the id of its step."""
        self.refused: list[str] = []
        """Steps that asked for an installation while one was going on or done."""

    @property
    def written(self) -> list[Written]:
        """Every write to a disk."""
        return self.body.written

    def register_params(self) -> HostCreateParams:
        """What the agent says of itself when it registers."""
        return HostCreateParams(host_id=self.id, discovery_agent_version=self.agent_image)

    def is_on(self, now: float) -> bool:
        """Whether the machine has power."""
        return self.name not in self.body.broken(now).off

    def reaches_service(self, now: float) -> bool:
        """Whether its packets get to the service."""
        return self.body.world.reaches_service(self.body.machine, now)

    def clock_offset_s(self, now: float) -> float:
        """How far its clock is off."""
        return self.body.clock_offset_s(now)

    def power_changes(self) -> list[float]:
        """The moments at which its power may come or go."""
        around = self.body.world.around
        return sorted(
            around.start + moment
            for trouble in around.troubles
            if trouble.fault.kind is FaultKind.POWER and trouble.fault.machine in (self.name, ANY)
            for moment in (trouble.since_s, trouble.until_s)
            if moment != math.inf
        )

    @property
    def is_done(self) -> bool:
        """Whether it is a node of its cluster."""
        return self.installation is not None and self.installation.stage == "Done"

    def boot(self) -> float:
        """Start from the medium again: what was in memory is gone. Seconds until the agent is there."""
        self.installation = None
        self.body.pulled.clear()
        return self.body.boot_s()

    def resume(self, now: float) -> float:
        """Go on from the disk after the power was gone. Seconds until it does."""
        if self.installation is not None:
            self.installation.resume(now)
        return self.body.boot_s()

    def answer(self, step: Step, now: float) -> Answer:
        """What comes of a step."""
        question = Question(step.step_id or "", step.args or (), now)
        if self._lacks_medium(now):
            outcome = Outcome(
                1.0, exit_code=MEDIA_GONE, error="cannot read the installation media: input/output error"
            )
            return _answer(step, outcome)
        try:
            match step.step_type:
                case "install":
                    return self._install(step, question)
                case "stop-installation":
                    return self._stop(step)
                case "logs-gather":
                    request: LogsGatherCmdRequest = question.read(LogsGatherCmdRequest)
                    return msgspec.structs.replace(_answer(step, Outcome(20.0)), logs=request)
                case _:
                    return self._check(step, question)
        except BadArguments as error:
            return _answer(step, Outcome(0.0, exit_code=BAD_STEP, error=str(error)))

    def _lacks_medium(self, now: float) -> bool:
        return self.body.world.around.is_full_iso and self.name in self.body.broken(now).ejected

    def _check(self, step: Step, question: Question) -> Answer:
        check = CHECKS.get(step.step_type) if step.step_type else None
        if check is None:
            raise BadArguments(f"unexpected step type: {step.step_type}")
        outcome = check(self.body, question)
        if outcome.then == "restart":
            self.agent_image = _image_of(step) or self.agent_image
        return _answer(step, outcome)

    def _install(self, step: Step, question: Question) -> Answer:
        """Begin an installation: never twice for one step, and never beside another one."""
        request: InstallCmdRequest = question.read(InstallCmdRequest)
        if question.step_id in self.started:
            return Answer()
        if self.installation is not None:
            self.refused.append(question.step_id)
            return _answer(
                step,
                Outcome(0.5, exit_code=NAME_IN_USE, error="the container name assisted-installer is in use"),
            )
        seconds = self.body.pull(request.installer_image, question.now)
        if seconds is None:
            error = f"cannot pull {request.installer_image}"
            return _answer(step, Outcome(60.0, exit_code=2, error=error))
        self.started[question.step_id] = request.boot_device
        self.installation = Installation(self.body, self.id, request, question.step_id)
        return Answer(again_s=seconds)

    def proceed(self, now: float) -> Answer:
        """How the installation goes on."""
        if self.installation is None or self.installation.is_over:
            return Answer()
        return self.installation.proceed(now)

    def reach(self, stage: HostStage, now: float) -> None:
        """A stage was reached: the others of the cluster see it from now on."""
        if self.installation is not None:
            self.installation.reach(stage, now)

    def vanish(self, now: float) -> None:
        """The host is gone, with what others wait for."""
        if self.installation is not None:
            self.installation.lose(now)

    def _stop(self, step: Step) -> Answer:
        if self.installation is not None and not self.installation.has_left:
            self.body.world.forget(self.id)
            self.installation = None
        return _answer(step, Outcome(5.0), stops=True)


def _image_of(step: Step) -> str:
    return str(Question("", step.args or (), 0.0).read(dict[str, str]).get("agent_image", ""))


def _answer(step: Step, outcome: Outcome, *, stops: bool = False) -> Answer:
    """The reply as the agent sends it: what is empty or zero is left out."""
    reply = StepReply(
        step_type=step.step_type,
        step_id=step.step_id,
        exit_code=outcome.exit_code or None,
        output=outcome.output or None,
        error=outcome.error or None,
    )
    return Answer(duration_s=outcome.duration_s, reply=reply, stops=stops, then=outcome.then)
