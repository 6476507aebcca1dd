# SPDX-License-Identifier: Apache-2.0
"""The program that sees to the choice: hears who is announced, does what is wished, and goes on after it.

Killed at any time it goes on where it was: how the host stands is written down before anything is done.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from typing import Final
from uuid import UUID

from msgspec.structs import replace

from muster.agent.meeting.acting import Hand, ip_of
from muster.agent.meeting.announcement import Ear, forget_old, hear
from muster.agent.meeting.choice import Act, Kind, Sight, Standing, Want, Wish, decide
from muster.agent.meeting.code import make_code, parse_code
from muster.agent.meeting.joining import Bond, Door, NotYet, fetch_papers, meet
from muster.agent.meeting.multicast import Wire, find_cards
from muster.agent.meeting.place import MeetingPlace, Papers
from muster.agent.meeting.roles import follow, take_in
from muster.board import Board
from muster.errors import MusterError
from muster.frozen import dataclass
from muster.links import IP
from muster.patience import Patience

_TICK_S: Final = 0.5
_CARDS_S: Final = 5.0
"""So often it is looked whether there are other interfaces."""
_AGAIN_S: Final = 5.0
_ANSWER_S: Final = 1.5
"""The shortest wait before a retry."""
_LONGEST_S: Final = 10.0
"""At most, plus or minus half of it by chance."""
_logger: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class Means:
    """What it is given."""

    place: MeetingPlace
    hand: Hand
    board: Board
    wire: Wire
    addresses: Callable[[], Awaitable[tuple[IP, ...]]]
    """The addresses that this host has."""
    name: Callable[[], str]
    random: Callable[[int], bytes]
    steady: Callable[[], float]


class Host:
    """One host that has to be told where to go."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._standing = means.place.load_standing()
        self._ear = Ear()
        self._role: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Until cancelled."""
        loop = asyncio.get_running_loop()
        self._means.wire.listen(self._hear, loop.add_reader)
        try:
            if self._standing.kind is not Kind.OPEN:
                await self._means.hand.carry_out(self._standing)
            self._play()
            async with asyncio.TaskGroup() as group:
                group.create_task(self._see_to_wishes())
                group.create_task(self._watch())
        finally:
            self._end_role()
            self._means.wire.close(loop.remove_reader)

    def _hear(self, data: bytes) -> None:
        self._ear = hear(self._ear, data, self._means.steady())

    async def _watch(self) -> None:
        """Hear on all interfaces, and tell the consoles who is there."""
        shown = None
        while True:
            self._means.wire.join(find_cards())
            for _ in range(int(_CARDS_S / _TICK_S)):
                self._ear = forget_old(self._ear, self._means.steady())
                own = self._standing.ip if self._standing.kind is Kind.HERE else ""
                found = tuple(each for each in self._ear.announcements if each.ip != own)
                if found != shown:
                    self._means.place.save_found(found)
                    shown = found
                await asyncio.sleep(_TICK_S)

    async def _see_to_wishes(self) -> None:
        """Retry a choice that may succeed later, until it does or another choice is made."""
        patience = Patience(lambda: self._means.random(1)[0] / 256, _LONGEST_S)
        steady, again_at = self._means.steady, 0.0
        tried: Wish | None = None
        while True:
            wish = self._means.place.load_wish()
            if wish != tried:
                patience.reset()
                again_at = 0.0
            try:
                if steady() >= again_at:
                    tried = wish
                    await self._act(wish)
                    patience.reset()
            except NotYet as error:
                self._keep(replace(self._standing, trouble=f"{error.message}; still trying", fix=error.hint))
                again_at = steady() + patience.next_s(_ANSWER_S)
            except MusterError as error:
                self._note(wish, error.message, error.hint)
            await asyncio.sleep(_TICK_S)

    async def _act(self, wish: Wish | None) -> None:
        standing, means = self._standing, self._means
        is_configured = standing.kind is Kind.OPEN and means.hand.has_environment
        is_new = wish is not None and wish.name != standing.handled
        sight = Sight(await means.addresses() if is_new else (), is_configured)
        step = decide(standing, wish, sight)
        if step.act is Act.LEAVE:
            await self._leave(wish)
        elif step.act is Act.SETTLE and wish is not None:
            await self._settle(wish)
        elif step.act is Act.JOIN and wish is not None:
            await self._join(wish)
        elif step.act is Act.NOTE:
            self._note(wish, step.trouble, step.fix)
        self._show(is_configured=is_configured)

    async def _settle(self, wish: Wish) -> None:
        """Be the rendezvous host."""
        cluster, infra_env = (str(UUID(bytes=self._means.random(16), version=4)) for _ in range(2))
        await self._become(
            Standing(
                kind=Kind.HERE,
                ip=wish.ip.strip(),
                port=wish.port,
                code=make_code(self._means.random),
                cluster_id=cluster,
                infra_env_id=infra_env,
                handled=wish.name,
            )
        )

    async def _join(self, wish: Wish) -> None:
        """Join another one; how it was before stays until that one has proven itself."""
        bond: Bond = await meet(Door(ip_address(wish.ip.strip()), wish.port), wish.code, wish.authority)
        papers: Papers = await fetch_papers(bond)
        if self._standing.kind is not Kind.OPEN:
            await self._leave(None)
        self._means.place.save_papers(papers)
        _logger.info("this host joins the rendezvous host %s", ip_of(papers))
        code = parse_code(wish.code) or ""
        await self._become(
            Standing(Kind.JOINED, str(bond.door.ip), wish.port, code, bond.digest, handled=wish.name)
        )

    async def _leave(self, wish: Wish | None) -> None:
        """Forget what was chosen. A wish for something else than that is seen to afterwards."""
        handled = wish.name if wish is not None and wish.want is Want.LEAVE else self._standing.handled
        self._end_role()
        self._keep(replace(self._standing, kind=Kind.LEAVING, handled=handled, trouble="", fix=""))
        self._means.board.show("what was chosen is being forgotten")
        await self._means.hand.leave()
        self._keep(Standing(handled=handled))

    async def _become(self, standing: Standing) -> None:
        self._keep(standing)
        await self._means.hand.carry_out(standing)
        self._play()

    def _note(self, wish: Wish | None, trouble: str, fix: str) -> None:
        if wish is not None:
            self._keep(replace(self._standing, handled=wish.name, trouble=trouble, fix=fix))

    def _keep(self, standing: Standing) -> None:
        self._means.place.save_standing(standing)
        self._standing = standing

    def _play(self) -> None:
        """Begin what goes on after the choice."""
        self._end_role()
        standing, means = self._standing, self._means
        if standing.kind is Kind.HERE:
            self._role = asyncio.create_task(
                _for_ever(lambda: take_in(standing, means.hand, means.name(), self._say))
            )
        elif standing.kind is Kind.JOINED and (papers := means.place.load_papers()) is not None:
            self._role = asyncio.create_task(_for_ever(lambda: follow(standing, papers, means.hand.root)))

    def _say(self, data: bytes) -> None:
        self._means.wire.say(data, find_cards())

    def _end_role(self) -> None:
        if self._role is not None:
            self._role.cancel()
            self._role = None

    def _show(self, *, is_configured: bool) -> None:
        """For whoever stands before the host; the code is not for boards."""
        standing = self._standing
        doing = {
            Kind.HERE: f"this is the rendezvous host, at {standing.ip}; the others can join it",
            Kind.JOINED: f"this host joined the rendezvous host {standing.ip}",
            Kind.LEAVING: "what was chosen is being forgotten",
        }.get(standing.kind, "somebody has to choose where the hosts meet (m)")
        if is_configured:
            doing = "a medium brought the configuration of a site"
        self._means.board.show(doing, trouble=standing.trouble, fix=standing.fix)


async def _for_ever(work: Callable[[], Awaitable[None]]) -> None:
    """What fails is tried again after a while; what it was stands in the log."""
    while True:
        try:
            await work()
        except MusterError as error:
            _logger.warning("%s; it is tried again", error.message)
        except Exception:
            _logger.warning("this did not work, and is tried again", exc_info=True)
        await asyncio.sleep(_AGAIN_S)
