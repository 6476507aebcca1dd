# SPDX-License-Identifier: Apache-2.0
"""A change of the network on trial: the old one comes back unless somebody sees this, and it is not worse."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from muster.client.view import Extent
from muster.console.judging import Reach, Verdict, judge, may_keep
from muster.console.lines import Line, Tone, title, wrap_text
from muster.console.network_manager import TRIAL_S, NetworkManager
from muster.console.pages import Page
from muster.console.profile import Profile
from muster.console.wish import Wish
from muster.errors import MusterError
from muster.frozen import dataclass

TICK_S: Final = 1.0
_MARGIN_S: Final = 2.0
"""So much earlier than NetworkManager the console takes a change back, to know what became of it."""
_WORDS: Final = {
    Verdict.BETTER: ("It is better than before.", Tone.GOOD),
    Verdict.SAME: ("It is as good as before.", Tone.GOOD),
    Verdict.WORSE: ("It is worse than before: what was reached is not reached any more.", Tone.BAD),
}


@dataclass(frozen=True)
class Change:
    """What is tried."""

    wish: Wish
    profile: Profile


@dataclass(frozen=True)
class TrialMeans:
    """What a trial is given."""

    network: NetworkManager
    reach: Callable[[], Reach]
    """What the host reaches, as far as was seen."""
    hurry: Callable[[], None]
    """Have it looked at."""
    steady: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


def render_trial(before: Reach, after: Reach, left_s: float, extent: Extent) -> list[Line]:
    """What somebody sees who has to decide."""
    width = extent.width
    words, tone = _WORDS[judge(before, after)]
    service = "answers" if after.answers else "does not answer"
    texts = [
        ("The network was changed.", Tone.PLAIN),
        (f"The service on the rendezvous host {service}. {words}", tone),
        (f"The old network comes back in {max(0, round(left_s))} s.", Tone.HINT),
    ]
    lines = [title("Network", "", width), Line("")]
    for text, its_tone in texts:
        lines += [Line(part, its_tone) for part in wrap_text(text, width, "  ")]
    keep = "y: keep the new network   " if may_keep(before, after) else ""
    return [*lines, Line(""), Line(f"{keep}Esc: back to the old one now", Tone.DIM)]


class TrialPage(Page):
    """Applies a change, and asks; its result says in words what became of it."""

    def __init__(self, change: Change, means: TrialMeans) -> None:
        super().__init__()
        self._change, self._means = change, means
        self._before = means.reach()
        self._checkpoint = ""
        self._until = 0.0
        self._is_over = False
        self._works: list[asyncio.Future[None]] = []

    def picture(self) -> list[Line]:
        if not self._checkpoint:
            return [
                title("Network", "", self.extent.width),
                Line(""),
                Line("  The network is being changed ..."),
            ]
        left_s = self._until - self._means.steady()
        return render_trial(self._before, self._means.reach(), left_s, self.extent)

    def on_screen_resume(self) -> None:
        if not self._works:  # Not before it is seen: it could be over before it is there to go away.
            self._works.append(asyncio.ensure_future(self._try()))

    async def _try(self) -> None:
        """Change it, then wait for the end; whoever presses a key comes between."""
        network = self._means.network
        try:
            started = self._means.steady()
            checkpoint = await network.begin()
            try:
                await network.apply(self._change.wish, self._change.profile)
            except BaseException:
                await network.undo(checkpoint)
                raise
        except MusterError as error:
            self._end(f"the network is as it was: {error.message}")
            return
        self._checkpoint, self._until = checkpoint, started + TRIAL_S - _MARGIN_S
        while self._means.steady() < self._until and not self._is_over:
            self._means.hurry()
            self.draw()
            await self._means.sleep(TICK_S)
        if not self._is_over:
            await self._undo("nobody kept the new network; the old one is back")

    def press(self, key: str, character: str) -> bool:
        if not self._checkpoint or self._is_over:
            return False
        if character.lower() == "y" and may_keep(self._before, self._means.reach()):
            self._start(self._keep())
        elif key == "escape":
            self._start(self._undo("the old network is back"))
        else:
            return False
        return True

    def _start(self, work: Awaitable[None]) -> None:
        self._is_over = True
        self._works.append(asyncio.ensure_future(work))

    async def _keep(self) -> None:
        kept = await self._means.network.keep(self._checkpoint)
        self._end("the new network stays" if kept else "it was too late: the old network is back")

    async def _undo(self, words: str) -> None:
        self._is_over = True
        await self._means.network.undo(self._checkpoint)
        self._end(words)

    def _end(self, words: str) -> None:
        self._is_over = True
        self._means.hurry()
        self.finish(words)
