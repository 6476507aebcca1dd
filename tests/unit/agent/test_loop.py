# SPDX-License-Identifier: Apache-2.0
"""The agent's conversation: it registers, does what it is told beside other things, and never freezes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from muster.agent.loop import Agent, Means
from muster.agent.steps.outcome import Outcome
from muster.board import Board, read_notice
from muster.client.calls import Refused, Unreachable
from muster.client.host import Registered
from muster.links import IP, Changes, Kind
from muster.model.wire.reports import StepReply
from muster.model.wire.steps import Step, Steps
from tests.unit.agent.steps.recorded import finish

NOW = datetime(2026, 3, 1, tzinfo=UTC)


class Enough(BaseException):
    """The service of a test has nothing more to say."""


class Service:
    """Says one thing after another; an exception is raised."""

    def __init__(self, *says: Any, replies: list[Exception] | None = None) -> None:
        self._says, self._replies = list(says), replies or []
        self.heard: list[Any] = []

    def _next(self) -> Any:
        if not self._says:
            raise Enough
        said = self._says.pop(0)
        if isinstance(said, BaseException):
            raise said
        return said

    async def register(self, version: str) -> Registered:
        self.heard.append("register")
        said = self._next()
        return said if isinstance(said, Registered) else Registered("known", "", str(said))

    async def instructions(self, now: datetime, wait_s: int) -> Steps:
        self.heard.append("poll")
        await asyncio.sleep(0)
        found: Steps = self._next()
        return found

    async def reply(self, reply: StepReply) -> None:
        if self._replies:
            raise self._replies.pop(0)
        self.heard.append((reply.step_type, reply.exit_code, reply.output, reply.error))


class Installer:
    """Notes what it is asked for; why the disk cannot be booted is given."""

    def __init__(self, why: str = "") -> None:
        self.asked: list[str] = []
        self.busy = False
        self._why = why

    async def is_busy(self) -> bool:
        return self.busy

    async def stop(self) -> None:
        self.asked.append("stop")

    async def boot_disk(self) -> str:
        self.asked.append("boot the disk")
        return self._why


class Duties:
    def __init__(self, do: Callable[[Step], Outcome] | None = None) -> None:
        self._do = do or (lambda step: Outcome(output=f"{step.step_type} is done"))
        self.gate: asyncio.Event | None = None
        self.begun: list[str | None] = []
        self.installer = Installer()

    async def do(self, step: Step) -> Outcome:
        self.begun.append(step.step_type)
        if self.gate is not None:
            await self.gate.wait()
        return self._do(step)


class Token:
    def __init__(self, token: str = "") -> None:
        self.token = token

    def load(self) -> str:
        return self.token

    def save(self, token: str) -> None:
        self.token = token


async def addresses() -> tuple[IP, ...]:
    return (ip_address("192.0.2.77"),)


async def somebody() -> bool:
    return True


class Seen(Changes):
    """Some things that change, one after the other, and then nothing."""

    def __init__(self, *kinds: Kind) -> None:
        super().__init__()
        self._seen = list(kinds)

    async def wait(self, seconds: float) -> frozenset[Kind]:
        await asyncio.sleep(0)
        return frozenset({self._seen.pop(0)}) if self._seen else await super().wait(seconds)


def play(
    service: Service,
    folder: Path,
    duties: Duties | None = None,
    token: Token | None = None,
    changes: Changes | None = None,
    sleep: Callable[[float], Awaitable[None]] | None = None,
) -> list[float]:
    """Run an agent until the service has nothing more to say; how long it wanted to sleep each time."""
    naps: list[float] = []

    async def nap(seconds: float) -> None:
        naps.append(seconds)
        for _ in range(5):
            await asyncio.sleep(0)

    async def scene() -> None:
        means = Means(
            Board(folder / "agent.json", lambda: NOW),
            token or Token(),
            lambda: NOW,
            lambda: 0.0,
            lambda: 0.5,
            changes or Changes(),
            addresses,
            somebody,
            sleep or nap,
        )
        agent = Agent(service, duties or Duties(), means)  # type: ignore[arg-type]
        with pytest.raises(BaseExceptionGroup) as ended:
            await agent.run()
        assert ended.value.subgroup(Enough)

    finish(scene())
    return naps


def told(*kinds: str, seconds: int = 1, action: str = "continue") -> Steps:
    steps = tuple(Step(step_type=kind, step_id=f"{kind}-1", args=()) for kind in kinds)  # type: ignore[arg-type]
    return Steps(instructions=steps, next_instruction_seconds=seconds, post_step_action=action)  # type: ignore[arg-type]


def test_it_registers_and_does_what_it_is_told(tmp_path: Path) -> None:
    service, token = Service("own", told("inventory", "verify-vips"), told()), Token()
    play(service, tmp_path, token=token)
    assert token.token == "own"
    assert service.heard[:2] == ["register", "poll"]
    assert ("inventory", None, "inventory is done", None) in service.heard
    assert ("verify-vips", None, "verify-vips is done", None) in service.heard


def test_an_agent_that_was_restarted_goes_on_without_registering(tmp_path: Path) -> None:
    service = Service(told())
    play(service, tmp_path, token=Token("own"))
    assert service.heard[0] == "poll"


def test_a_step_of_a_kind_that_runs_is_not_begun_again(tmp_path: Path) -> None:
    service, duties = Service("own", told("inventory"), told("inventory", "verify-vips"), told()), Duties()

    async def gate() -> asyncio.Event:
        return asyncio.Event()

    duties.gate = finish(gate())
    play(service, tmp_path, duties)
    assert duties.begun == ["inventory", "verify-vips"]


def test_who_is_turned_away_says_so_and_asks_again(tmp_path: Path) -> None:
    service = Service(
        Refused(403, "the token has expired"), Unreachable("https://x", "no route to host"), "own", told()
    )
    naps = play(service, tmp_path)
    assert service.heard.count("register") == 3
    assert naps[0] < 1, "a service that has just started may not know its site yet"
    refusals = [Refused(403, "the token has expired") for _ in range(12)]
    assert max(play(Service(*refusals), tmp_path)) == 15


def test_a_service_that_starts_is_found_soon_however_long_that_takes(tmp_path: Path) -> None:
    away = [Unreachable("https://x", "connection refused") for _ in range(20)]
    naps = play(Service(*away, "own", told(), *away), tmp_path)
    assert naps[0] < 1
    assert max(naps[:20]) == 3
    assert max(naps[21:]) == 10  # One that was there and is away for long is not asked so often.


def test_what_it_waits_for_is_on_the_board(tmp_path: Path) -> None:
    play(Service(Unreachable("https://192.0.2.10:8090", "connection refused")), tmp_path)
    notice = read_notice(tmp_path / "agent.json")
    assert notice is not None
    assert (notice.doing, notice.since) == ("registering with the service", NOW)
    assert "connection refused" in notice.trouble
    assert notice.details == ("tried 1 times", "addresses here: 192.0.2.77")
    play(Service("own", told(), Unreachable("https://192.0.2.10:8090", "no route to host")), tmp_path)
    notice = read_notice(tmp_path / "agent.json")
    assert notice is not None
    assert "no route to host" in notice.trouble
    assert notice.fix


@pytest.mark.parametrize(
    ("kind", "busy", "is_told"),
    [
        (Kind.DISKS, False, True),
        (Kind.DISKS, True, False),
        (Kind.LINKS, True, True),
        (Kind.OTHER, True, True),
    ],
)
def test_a_change_is_told_unless_it_is_of_the_disk_that_is_written(
    tmp_path: Path, kind: Kind, busy: bool, is_told: bool
) -> None:
    duties = Duties()
    duties.installer.busy = busy
    play(Service(told(), told(), told()), tmp_path, duties, Token("own"), Seen(kind))
    assert ("inventory" in duties.begun) == is_told


def test_who_told_what_came_of_a_step_asks_at_once_for_the_next(tmp_path: Path) -> None:
    service = Service("own", told("inventory", seconds=30), told())
    turns = []

    async def sleep(seconds: float) -> None:
        for _ in range(100 if seconds == 30 else 1):
            turns.append(seconds)
            await asyncio.sleep(0)

    play(service, tmp_path, sleep=sleep)
    assert 0 < turns.count(30) < 100, "it was not woken"


def test_a_host_that_was_deleted_registers_anew(tmp_path: Path) -> None:
    service = Service("own", Refused(404, "host is not there"), "own", told())
    play(service, tmp_path)
    assert service.heard == ["register", "poll", "register", "poll", "poll"]


def test_one_that_is_told_to_end_registers_anew(tmp_path: Path) -> None:
    service = Service("own", told(action="exit"), "own", told())
    play(service, tmp_path)
    assert service.heard == ["register", "poll", "register", "poll", "poll"]


def test_an_answer_is_told_again_until_it_is_heard(tmp_path: Path) -> None:
    troubles: list[Exception] = [Unreachable("https://x", "gone"), Refused(503, "later", 2.0)]
    service = Service("own", told("inventory"), told(), told(), told(), told(), replies=troubles)
    play(service, tmp_path)
    assert ("inventory", None, "inventory is done", None) in service.heard


def test_an_answer_that_nobody_wants_is_not_told_again(tmp_path: Path) -> None:
    refused = Refused(400, "the reply is not as it should be")
    service = Service("own", told("inventory"), told(), told(), told(), replies=[refused])
    play(service, tmp_path)
    assert not [each for each in service.heard if isinstance(each, tuple)]


def test_a_host_that_should_have_booted_its_disk_does_so_now(tmp_path: Path) -> None:
    info = "The host should boot from its disk /dev/sda, but booted from the installation medium again"
    service = Service(Registered("installing-pending-user-action", info, "own"), told())
    duties = Duties()
    play(service, tmp_path, duties)
    assert duties.installer.asked == ["boot the disk"]


def test_one_that_cannot_says_what_a_person_has_to_do(tmp_path: Path) -> None:
    service = Service(Registered("installing-pending-user-action", "", "own"), told(), told())
    duties = Duties()
    duties.installer = Installer("this firmware cannot be told")
    play(service, tmp_path, duties)
    notice = read_notice(tmp_path / "agent.json")
    assert notice is not None
    assert "booted the installation medium again instead of its disk" in notice.trouble
    assert "this firmware cannot be told" in notice.trouble
    assert notice.fix.startswith("remove the medium, or set the boot order")


def test_what_an_earlier_life_of_the_service_asked_for_is_stopped(tmp_path: Path) -> None:
    service = Service(Refused(401, "the token is of nobody"), Registered("discovering", "", "new"), told())
    duties, token = Duties(), Token("old")
    play(service, tmp_path, duties, token)
    assert service.heard[:3] == ["poll", "register", "poll"]
    assert duties.installer.asked == ["stop"]
    assert token.token == "new"
