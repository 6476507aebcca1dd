# SPDX-License-Identifier: Apache-2.0
"""The agent: register, ask what to do, do it beside other things, tell what came of it. It never freezes.

Steps run beside each other, but only one of a kind at a time, each with a deadline. Whatever the agent waits
for is on the board. What the host is made of is told again as soon as something of it changes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import field
from datetime import datetime
from typing import Final, Protocol

from muster import __version__
from muster.agent.duties import Duties
from muster.agent.steps.outcome import Outcome
from muster.board import Board
from muster.client.calls import Refused, Unreachable
from muster.client.host import HostCalls, Registered
from muster.client.listening import Listens, wait_until_heard
from muster.client.persisting import Persistence
from muster.frozen import dataclass
from muster.links import IP, Changes, Kind
from muster.model.wire.reports import StepReply
from muster.model.wire.steps import Step
from muster.patience import Patience

WAIT_S: Final = 60
"""How long the service may hold its answer when there is nothing to do."""
_LEAST_S: Final = 0.2
_REFUSED_S: Final = 15.0
"""Before somebody who was turned away again and again asks again: somebody may have mended it."""
_GREETING_S: Final = 3.0
"""The service starts on one of the hosts while all others wait for it: nothing goes on before they meet."""
_ANSWER_S: Final = 120.0
"""For so long an answer is worth telling."""
_NEW: Final = "discovering"
_WRONG_BOOT: Final = "installing-pending-user-action"
_WRONG_BOOT_FIX: Final = (
    "remove the medium, or set the boot order in the setup of the firmware, and restart this host"
)
_logger: Final = logging.getLogger(__name__)


class Keeper(Protocol):
    """Where the token is kept that is good for this host alone, for the other programs of the host."""

    def load(self) -> str: ...

    def save(self, token: str) -> None: ...


@dataclass(frozen=True)
class Means:
    """What an agent is given."""

    board: Board
    keeper: Keeper
    clock: Callable[[], datetime]
    steady: Callable[[], float]
    """Seconds that only ever grow, however the clock is set."""
    chance: Callable[[], float]
    changes: Changes
    addresses: Callable[[], Awaitable[tuple[IP, ...]]]
    """The addresses that this host has."""
    listens: Listens
    """Whether somebody is there where the service will be."""
    sleep: Callable[[float], Awaitable[None]] = field(default=asyncio.sleep)
    report: Callable[[], Awaitable[None]] | None = None
    """Tells the service what happened to the host itself, such as that its clock was set."""


class Agent:
    """One host's agent."""

    def __init__(self, calls: HostCalls, duties: Duties, means: Means) -> None:
        self._calls, self._duties, self._means = calls, duties, means
        self._patience = Patience(means.chance)
        self._greeting = Patience(means.chance, _GREETING_S)
        self._refusals = Patience(means.chance, _REFUSED_S)
        """A service that listens may not know its own site yet; a moment later it does."""
        self._persistence = Persistence(means.chance, means.steady, means.sleep, _ANSWER_S)
        self._running: dict[str, asyncio.Task[None]] = {}
        self._answered = asyncio.Event()
        self._tries = 0
        """How often nobody answered who could register this host."""
        self._lasting = ("", "")
        """Trouble that stays until the host is restarted, and what helps."""

    async def run(self) -> None:
        """Until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._converse())
                group.create_task(self._watch())
        finally:
            for task in self._running.values():
                task.cancel()

    async def _converse(self) -> None:
        is_known = bool(self._means.keeper.load())  # An agent that was restarted goes on where it was.
        while True:
            if not is_known:
                is_known = await self._register()
            else:
                is_known = await self._poll()

    async def _register(self) -> bool:
        board = self._means.board
        if not self._tries:
            board.show("registering with the service")
        try:
            registered = await self._calls.register(__version__)
        except Unreachable as error:
            await self._show_absence(error)
            await wait_until_heard(self._means.listens, self._greeting.next_s(), self._means.sleep)
            return False
        except Refused as error:
            fix = "see what the service says of this host; the agent asks again by itself"
            board.show("registering with the service", trouble=error.message, fix=fix)
            await self._means.sleep(self._refusals.next_s(error.retry_s))
            return False
        if registered.status == _WRONG_BOOT and not registered.is_enrolled:
            await self._settle(registered)
            self._show()
            await self._means.sleep(self._refusals.next_s())
            return False
        self._means.keeper.save(registered.token)
        self._patience.reset()
        self._greeting.reset()
        self._refusals.reset()
        self._tries = 0
        await self._settle(registered)
        return True

    async def _show_absence(self, error: Unreachable) -> None:
        """Nobody answers: what was tried how often, and from which addresses."""
        self._tries += 1
        seen = ", ".join(map(str, await self._means.addresses())) or "none"
        details = (f"tried {self._tries} times", f"addresses here: {seen}")
        self._means.board.show(
            "registering with the service", trouble=error.message, fix=error.hint, details=details
        )

    async def _settle(self, registered: Registered) -> None:
        """Bring this host to what the service takes it for."""
        if registered.status == _WRONG_BOOT:
            doing = "this host booted the installation medium again instead of its disk"
            self._means.board.show(doing, details=(registered.status_info,))
            why = await self._duties.installer.boot_disk()
            self._lasting = (f"{doing}; {why}" if why else doing, "" if not why else _WRONG_BOOT_FIX)
        elif registered.status == _NEW:
            # What an earlier life of the service asked for is of a cluster that will never be.
            await self._duties.installer.stop()

    async def _poll(self) -> bool:
        """Ask what to do; whether the service still knows the host."""
        try:
            if self._means.report is not None:
                await self._means.report()
            steps = await self._calls.instructions(self._means.clock(), WAIT_S)
        except Unreachable as error:
            self._show(trouble=error.message, fix=error.hint)
            await self._means.sleep(self._patience.next_s())
            return True
        except Refused as error:
            self._show(trouble=error.message)
            await self._means.sleep(self._patience.next_s(error.retry_s))
            return error.code not in (401, 403, 404)
        self._patience.reset()
        for step in steps.instructions or ():
            self._begin(step)
        self._show()
        if steps.post_step_action == "exit":
            return False
        await self._rest(max(_LEAST_S, float(steps.next_instruction_seconds or 0)))
        return True

    async def _rest(self, seconds: float) -> None:
        """Before it asks again; who told what came of a step may be told what is next at once."""
        waits = [asyncio.ensure_future(each) for each in (self._means.sleep(seconds), self._answered.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
            self._answered.clear()

    def _begin(self, step: Step) -> None:
        """Begin a step, unless one of its kind is still going on."""
        kind = step.step_type or ""
        if kind in self._running:
            return
        task = asyncio.ensure_future(self._do(step))
        self._running[kind] = task
        task.add_done_callback(lambda _: self._running.pop(kind, None))

    async def _do(self, step: Step) -> None:
        outcome = await self._duties.do(step)
        await self._answer(step, outcome)

    async def _answer(self, step: Step, outcome: Outcome) -> None:
        """Tell what came of a step, however often that takes; not for ever, as it grows old."""
        reply = StepReply(
            step_type=step.step_type,
            step_id=step.step_id,
            exit_code=outcome.exit_code or None,
            output=outcome.output or None,
            error=outcome.error or None,
        )
        try:
            await self._persistence.tell(lambda: self._calls.reply(reply))
            self._answered.set()
        except (Refused, Unreachable) as error:
            _logger.warning("the answer to %s was not taken: %s", step.step_type, error.message)

    async def _watch(self) -> None:
        """Tell what the host is made of as soon as that changes; who is not known yet is asked anyway."""
        while True:
            seen = await self._means.changes.wait(3600.0)
            if seen and self._means.keeper.load() and not await self._is_own_doing(seen):
                self._begin(Step(step_type="inventory", step_id="", args=()))

    async def _is_own_doing(self, seen: frozenset[Kind]) -> bool:
        """Whether only the installer can be who changed something: its disk changes all the time."""
        return seen == {Kind.DISKS} and await self._duties.installer.is_busy()

    def _show(self, *, trouble: str = "", fix: str = "") -> None:
        if not trouble:
            trouble, fix = self._lasting
        kinds = tuple(sorted(self._running))
        doing = "checking this host" if kinds else "waiting for instructions"
        self._means.board.show(doing, trouble=trouble, fix=fix, details=kinds)
