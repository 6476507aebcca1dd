# SPDX-License-Identifier: Apache-2.0
"""A host to stand before: a folder for its files, and programs that answer as they are told to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from textual.pilot import Pilot

from muster.client.snapshot import ServiceSight, Why
from muster.console.app import ConsoleApp, Means
from muster.console.gathering import Gatherer, Pace, Sources
from muster.console.pages import Page
from muster.links import Changes
from muster.run import Argument, Said
from tests.unit.client.sights import NOON, cluster, host

OK = Said(0, "", "")
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
ENVIRONMENT = "NODE_ZERO_IP=192.0.2.10\nCLUSTER_ID=c\nINFRA_ENV_ID=i\n"
LINKS = json.dumps(
    [
        {"ifname": "eth0", "flags": ["LOWER_UP"], "addr_info": [{"local": "192.0.2.10", "prefixlen": 24}]},
        {"ifname": "eth1", "flags": []},
    ]
)
WELL = ServiceSight(at=NOON, cluster=cluster("ready", (host("m-0"),)), why=Why())
_SOON_S = 20.0


class Stand:
    """A host, and what was asked of its programs."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.asked: list[str] = []
        self.answers: dict[str, Said] = {"ip -j -d address": Said(0, LINKS, "")}
        """By how a command begins; everything else succeeds and says nothing."""
        self.sight: ServiceSight | None = WELL
        self.steady = 0.0
        self.write("proc/sys/kernel/hostname", "m-0\n")
        self.write("etc/assisted/rendezvous-host.env", ENVIRONMENT)
        self.write("proc/cmdline", "quiet\n")

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    async def ask(self, argv: Sequence[Argument], *, deadline_s: float, feed: str = "") -> Said:
        command = " ".join(map(str, argv))
        self.asked.append(command)
        await asyncio.sleep(0)
        return next((said for start, said in self.answers.items() if command.startswith(start)), OK)

    async def look(self) -> ServiceSight | None:
        return self.sight

    def asked_for(self, part: str) -> list[str]:
        return [each for each in self.asked if part in each]


class Screen:
    """The screen of a console, and its keys."""

    def __init__(self, app: ConsoleApp, pilot: Pilot[str]) -> None:
        self.app, self.pilot = app, pilot

    @property
    def text(self) -> str:
        top = self.app.screen
        return top.view.text if isinstance(top, Page) else ""

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def shows(self, words: str) -> str:
        """Wait until the screen shows something."""
        await self.until(lambda: words in self.text, words)
        return self.text

    async def until(self, is_so: Callable[[], bool], words: str = "") -> None:
        async with asyncio.timeout(_SOON_S):
            while not is_so():  # noqa: ASYNC110 - it is Textual that makes it so
                await asyncio.sleep(0.01)
        assert is_so(), words


@asynccontextmanager
async def console(
    stand: Stand, size: tuple[int, int] = (80, 24), waits_for: str = "192.0.2.10/24"
) -> AsyncIterator[Screen]:
    pace = Pace(files_s=0.05, links_s=0.05, service_s=0.05, away_s=0.05)
    gatherer = Gatherer(Sources(stand, stand.look, Changes(), pace))
    app = ConsoleApp(Means(stand, gatherer, lambda: NOW, lambda: stand.steady))
    async with app.run_test(size=size) as pilot:
        screen = Screen(app, pilot)
        await screen.shows(waits_for)
        yield screen


def play(scene: Callable[[], Awaitable[None]]) -> None:
    async def run() -> None:
        await scene()

    asyncio.run(run())
