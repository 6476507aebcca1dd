# SPDX-License-Identifier: Apache-2.0
"""The console on a terminal that can be drawn on: the main screen, and what keys do there."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import field
from datetime import UTC, datetime
from functools import partial
from typing import Any, ClassVar, Final

from textual.app import App
from textual.binding import BindingType
from textual.driver import Driver

from muster.agent.meeting.place import MeetingPlace
from muster.console import choosing, detail_screens
from muster.console.choosing import choose
from muster.console.facts import Facts, render_moment
from muster.console.gathering import Gatherer
from muster.console.journal import read_journal
from muster.console.judging import reach_of
from muster.console.lines import Line
from muster.console.main_screen import render_link, render_main, usable_links
from muster.console.network_form import NetworkForm
from muster.console.network_manager import NetworkManager
from muster.console.pages import ChoicePage, Page, QuestionPage, ReadingPage
from muster.console.qr import render_where
from muster.console.running import SHELL
from muster.console.shell import find_permission
from muster.console.sticks import find_sticks, save_bundle
from muster.console.terminal import ConsoleDriver
from muster.console.trial import Change, TrialMeans, TrialPage
from muster.errors import MusterError
from muster.frozen import dataclass
from muster.machine import Machine

_AGENT: Final = "muster-agent.service"
_logger: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class Means:
    """What a console is given."""

    machine: Machine
    gatherer: Gatherer
    clock: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    steady: Callable[[], float] = time.monotonic
    has_blocks: bool = False
    """Whether the terminal can show a QR code: the screen of a host can, serial lines often cannot."""


class MainPage(Page):
    """The main screen."""

    is_live = True

    def __init__(self, console: ConsoleApp) -> None:
        super().__init__()
        self._app_of_host = console

    def picture(self) -> list[Line]:
        console = self._app_of_host
        return render_main(console.facts, console.means.clock(), self.extent, console.message)

    def press(self, key: str, character: str) -> bool:
        return self._app_of_host.begin(key, character)


class WherePage(Page):
    """Where the service is, as a QR code, too."""

    is_live = True

    def __init__(self, console: ConsoleApp) -> None:
        super().__init__()
        self._app_of_host = console

    def picture(self) -> list[Line]:
        console = self._app_of_host
        means = console.means
        return render_where(console.facts, means.clock(), self.extent, with_blocks=means.has_blocks)

    def press(self, key: str, character: str) -> bool:
        if key not in ("escape", "enter") and character not in ("q", "u"):
            return False
        self.finish("")
        return True


class ConsoleApp(App[str], inherit_bindings=False):
    """The console."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, means: Means, driver_class: type[Driver] | None = ConsoleDriver) -> None:
        super().__init__(driver_class=driver_class, ansi_color=True)
        self.theme = "ansi-dark"
        self.means = means
        self.message = ""
        self._main = MainPage(self)
        self._has_asked = False
        self._work: asyncio.Task[None] | None = None
        self._following: asyncio.Task[None] | None = None
        self._actions: dict[str, Callable[[], Awaitable[None]]] = {
            "m": self._choose,
            "u": self._show_where,
            "n": self._change_network,
            "r": self._check_again,
            "b": self._save_bundle,
            "s": self._open_shell,
            "l": self._show_journal,
            "c": partial(self._read, "Failing checks", detail_screens.render_checks),
            "h": partial(self._read, "Hosts", detail_screens.render_hosts),
            "a": partial(self._read, "Network interfaces", detail_screens.render_links),
            "?": partial(self._read, "Help", lambda _, width: detail_screens.render_help(width)),
        }

    @property
    def facts(self) -> Facts:
        """What is known now."""
        return self.means.gatherer.facts

    def on_mount(self) -> None:
        _ = self.push_screen(self._main)
        self._following = asyncio.create_task(self._follow())

    async def on_unmount(self) -> None:
        for task in (self._following, self._work):
            if task is not None and task is not asyncio.current_task():
                task.cancel()

    async def _follow(self) -> None:
        """Draw what is new."""
        async for _ in self.means.gatherer.follow():
            self._guard(self._draw)

    def _draw(self) -> None:
        top = self.screen
        if isinstance(top, Page) and top.is_live:
            top.draw()
        choice = self.facts.choice
        if not self._has_asked and choice is not None and top is self._main:
            self._has_asked = True
            if choice.is_open:  # Nothing happens before somebody says it: ask, once.
                self.begin("m", "m")

    def tell(self, words: str) -> None:
        """Show a line to whoever is there."""
        self.message = f"{render_moment(self.means.clock())}  {words}" if words else ""
        self._guard(self._draw)

    def begin(self, key: str, character: str) -> bool:
        """Do what a key of the main screen is for; one thing at a time."""
        if key == "ctrl+c":  # On a terminal of the host systemd starts it anew.
            self.exit("")
            return True
        wanted = {"f1": "?", "f2": "n"}.get(key, character.lower())
        action = self._actions.get(wanted)
        if action is None:
            return False
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._do(action))
        return True

    async def _do(self, action: Callable[[], Awaitable[None]]) -> None:
        try:
            await action()
        except MusterError as error:
            self.tell(f"{error.message}; {error.hint}" if error.hint else error.message)
        except Exception as error:
            _logger.exception("an action of the console failed")
            self.tell(f"that failed through a bug in Muster: {type(error).__name__}; the journal has more")

    def _guard(self, work: Callable[[], None]) -> None:
        """Whatever cannot be drawn is told in the journal; the screen stays as it was."""
        try:
            work()
        except Exception:
            _logger.exception("the screen cannot be drawn")

    async def _ask(self, page: Any) -> Any:
        """Show a page, and wait for what comes of it."""
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        await self.push_screen(page, lambda result: None if done.done() else done.set_result(result))
        return await done

    async def _read(self, name: str, render: Callable[[Facts, int], list[Line]]) -> None:
        await self._ask(ReadingPage(name, lambda width: render(self.facts, width)))

    async def _choose(self) -> None:
        place = MeetingPlace(self.means.machine.root)
        await choose(choosing.Means(self._ask, lambda: self.facts, place, self.tell))

    async def _show_where(self) -> None:
        await self._ask(WherePage(self))

    async def _show_journal(self) -> None:
        text = await read_journal(self.means.machine)
        await self._ask(ReadingPage("Journal", partial(detail_screens.render_journal, text)))

    async def _check_again(self) -> None:
        said = await self.means.machine.ask(
            ["systemctl", "kill", "--kill-whom=main", "--signal=HUP", _AGENT], deadline_s=10.0
        )
        if said.is_ok:
            self.tell("the service is told anew what this host is made of, and makes failing checks again")
        else:
            self.tell(f"the agent cannot be told: {said.trouble}")
        self.means.gatherer.hurry()

    async def _save_bundle(self) -> None:
        sticks = await find_sticks(self.means.machine)
        if not sticks:
            self.tell("there is no USB stick with a file system; plug one in, and press b again")
            return
        taken = await self._ask(ChoicePage("Save a support bundle to", [each.words for each in sticks]))
        if not taken:
            return
        stick = sticks[int(taken)]
        self.tell(f"the bundle is being written to {stick.path}; leave the stick where it is")
        name = await save_bundle(self.means.machine, stick)
        self.tell(f"{name} is on {stick.path}; the stick can be pulled")

    async def _open_shell(self) -> None:
        permission = find_permission(self.means.machine.root)
        if not permission.is_given:
            self.tell(permission.reason)
            return
        texts = [f"A shell of core on this host; {permission.reason}.", "`exit` comes back to this screen."]
        if await self._ask(QuestionPage("Shell", texts)):
            self.exit(SHELL)

    async def _change_network(self) -> None:
        links = usable_links(self.facts.links)
        if not links:
            self.tell("there is no network interface to change")
            return
        choices = [render_link(each) for each in links]
        taken = await self._ask(ChoicePage("Change the network of", choices))
        if not taken:
            return
        device, network = links[int(taken)].name, NetworkManager(self.means.machine)
        profile = await network.profile_of(device)
        form = NetworkForm(device, profile.typed, [each.name for each in self.facts.links])
        if not await self._ask(form) or form.made is None:
            return
        gatherer = self.means.gatherer
        means = TrialMeans(network, lambda: reach_of(self.facts), gatherer.hurry, self.means.steady)
        self.tell(await self._ask(TrialPage(Change(form.made, profile), means)))

    def _fatal_error(self) -> None:
        """Instead of showing a traceback to people: whoever runs the console starts it anew."""
        _logger.error("the console has to start anew", exc_info=sys.exc_info())
        self._close_messages_no_wait()

    def _print_error_renderables(self) -> None:
        """Nothing that people could not use is shown to them."""
