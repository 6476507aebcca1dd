# SPDX-License-Identifier: Apache-2.0
"""Somebody says where the hosts meet: a menu, a question or a code, and what comes of it."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping
from ipaddress import ip_address
from typing import Any, Final

from muster.agent.meeting.choice import Kind, Standing, Want, Wish
from muster.agent.meeting.code import parse_code, render_code
from muster.agent.meeting.place import MeetingPlace
from muster.console.facts import Facts
from muster.console.fields import WrongField
from muster.console.form import Form
from muster.console.lines import Line, Tone, fit, spell, title, wrap_text
from muster.console.menu import Item, menu_of, questions_of
from muster.console.pages import Page, QuestionPage
from muster.frozen import dataclass
from muster.links import IP

_LABELS: Final = {"ip": "Address of the rendezvous host", "code": "Join code on its console"}
_TICK_S: Final = 0.5
HEADING: Final = "Where do the hosts meet?"


@dataclass(frozen=True)
class Means:
    """What it is given."""

    ask: Callable[[Any], Awaitable[Any]]
    """Shows a page, and tells what came of it."""
    facts: Callable[[], Facts]
    place: MeetingPlace
    tell: Callable[[str], None]


class MenuPage(Page):
    """All that can be chosen; it changes while somebody looks. Its result is in `taken`."""

    is_live = True

    def __init__(self, facts: Callable[[], Facts]) -> None:
        super().__init__()
        self._facts = facts
        self._before = self._standing()
        self._chosen: tuple[str, ...] = ()
        self.taken: Item | None = None

    def _standing(self) -> tuple[Kind, str] | None:
        choice = self._facts().choice
        return (choice.standing.kind, choice.standing.ip) if choice is not None else None

    def draw(self) -> None:
        """Somebody may have chosen on another terminal of this host: then there is nothing to choose here."""
        super().draw()
        if self._standing() != self._before:
            self.finish("")

    def _items(self) -> tuple[list[Item], int]:
        """What there is, and which of it is chosen."""
        items = menu_of(self._facts())
        keys = [each.key for each in items]
        return items, keys.index(self._chosen) if self._chosen in keys else 0

    def picture(self) -> list[Line]:
        width, room = self.extent.width, max(1, self.extent.height - 5)
        items, chosen = self._items()
        first = max(0, chosen - room + 1)
        lines = [title(HEADING, "", width), Line("")]
        for number, each in enumerate(items[first : first + room], first):
            tone = Tone.CHOSEN if number == chosen else Tone.PLAIN
            lines.append(Line(fit(f"  {each.letter or number + 1}  {spell(each.text)}", width), tone))
        if not any(each.want is Want.HERE for each in items):
            lines.append(
                Line("  This host has no address yet; it appears here when it comes (n: network)", Tone.HINT)
            )
        return [
            *lines,
            Line(""),
            Line("Up Down, Enter, or its number or letter: take it   Esc: back", Tone.DIM),
        ]

    def press(self, key: str, character: str) -> bool:
        items, chosen = self._items()
        keys = {each.letter or str(number): each for number, each in enumerate(items, 1)}
        taken = items[chosen] if key == "enter" else keys.get(character.lower())
        if key == "escape" or character == "q":
            self.finish("")
        elif taken is not None:
            self.taken = taken
            self.finish("yes")
        elif key in ("up", "down"):
            self._chosen = items[(chosen + (1 if key == "down" else -1)) % len(items)].key
            self.draw()
        else:
            return False
        return True


class JoinForm(Form[tuple[str, str]]):
    """The address of a rendezvous host, and its code."""

    def __init__(self, values: Mapping[str, str], trouble: str = "") -> None:
        super().__init__("Join a rendezvous host", _LABELS, values)
        self.warn(trouble, "code" if values.get("ip") else "ip")

    def check(self, texts: Mapping[str, str]) -> tuple[str, str]:
        ip, code = texts["ip"].strip(), parse_code(texts["code"])
        if parse_ip(ip) is None:
            raise WrongField("ip", f"{ip or 'nothing'} is no address, such as 192.0.2.10 or fd00::10")
        if code is None:
            raise WrongField("code", "the join code has ten letters and digits, such as K7QM3-XHDP2")
        return ip, code


class WaitPage(Page):
    """Somebody waits for what comes of a wish; it goes on without them, too."""

    is_live = True

    def __init__(self, wish: Wish, standing: Callable[[], Standing]) -> None:
        super().__init__()
        self._wish, self._standing = wish, standing

    def on_mount(self) -> None:
        self.set_interval(_TICK_S, self.draw)

    @property
    def is_done(self) -> bool:
        """Whether it was seen to."""
        standing = self._standing()
        return standing.handled == self._wish.name and standing.kind is not Kind.LEAVING

    def draw(self) -> None:
        if self.is_done:
            self.finish("done")
        else:
            super().draw()

    def picture(self) -> list[Line]:
        width, standing = self.extent.width, self._standing()
        words = {
            Want.HERE: f"This host becomes the rendezvous host at {self._wish.ip} ...",
            Want.JOIN: f"This host asks {self._wish.ip} to join ...",
            Want.LEAVE: "What was chosen is being forgotten ...",
        }[self._wish.want]
        lines = [title(HEADING, "", width), Line(""), Line(fit(f"  {words}", width))]
        if standing.trouble:
            lines += [Line(part, Tone.BAD) for part in wrap_text(standing.trouble, width, "  ")]
            lines += [Line(part, Tone.HINT) for part in wrap_text(f"fix: {standing.fix}", width, "  ")]
        return [*lines, Line(""), Line("Esc: back, it goes on; m there: choose something else", Tone.DIM)]

    def press(self, key: str, character: str) -> bool:
        if key != "escape" and character != "q":
            return False
        self.finish("")
        return True


async def choose(means: Means) -> None:
    """Have somebody choose, and say what came of it."""
    if means.facts().choice is None:
        means.tell("this medium is of a site, which says where its hosts meet")
        return
    menu = MenuPage(means.facts)
    if not await means.ask(menu) or menu.taken is None:
        return
    item = menu.taken
    texts = questions_of(item, means.facts())
    if texts and not await means.ask(QuestionPage(HEADING, texts)):
        return
    if item.want is Want.JOIN:
        await _join(means, item)
    else:
        await _wish(means, Wish(_name(), item.want, item.ip, port=item.port))


async def _join(means: Means, item: Item) -> None:
    """Ask for the code until it is right, or somebody goes away."""
    values, trouble = {"ip": item.ip}, ""
    while True:
        form = JoinForm(values, trouble)
        if not await means.ask(form) or form.made is None:
            return
        ip, code = form.made
        values = {"ip": ip, "code": render_code(code)}
        announced = item.authority if ip == item.ip else ""
        is_over = await _wish(means, Wish(_name(), Want.JOIN, ip, code, item.port, announced))
        if is_over:
            return
        trouble = means.place.load_standing().trouble


async def _wish(means: Means, wish: Wish) -> bool:
    """Wish for it, and wait; False when it could not be."""
    means.place.save_wish(wish)
    done = await means.ask(WaitPage(wish, means.place.load_standing))
    standing = means.place.load_standing()
    if not done:
        means.tell("it goes on; m: choose something else")
        return True
    if standing.trouble:
        means.tell(f"{standing.trouble}; {standing.fix}")
        return False
    means.tell(_WORDS[standing.kind].format(ip=standing.ip))
    return True


_WORDS: Final = {
    Kind.OPEN: "nothing is chosen any more; m: choose where the hosts meet",
    Kind.HERE: "this is the rendezvous host at {ip}; type its join code on the others",
    Kind.JOINED: "this host joined the rendezvous host at {ip}",
    Kind.LEAVING: "what was chosen is being forgotten",
}


def _name() -> str:
    return secrets.token_hex(8)


def parse_ip(text: str) -> IP | None:
    """An address, if it is one."""
    try:
        return ip_address(text)
    except ValueError:
        return None
