# SPDX-License-Identifier: Apache-2.0
"""The console on a terminal that cannot be drawn on: the same lines, one after the other.

Where the medium leaves it to people where the hosts meet, they say it here in words.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
from collections.abc import Awaitable, Callable, Iterator
from datetime import datetime
from typing import Final, TextIO

from muster.agent.meeting.choice import Want, Wish
from muster.agent.meeting.place import MeetingPlace
from muster.client.view import Extent
from muster.console.facts import Facts
from muster.console.gathering import Gatherer
from muster.console.main_screen import render_main
from muster.console.menu import menu_of
from muster.errors import MusterError
from muster.frozen import dataclass

REST_S: Final = 10.0
"""So long it is quiet between two pictures."""
SETTLE_S: Final = 1.0
"""What is new seldom comes alone."""
_EXTENT: Final = Extent(79, 24)
_PIECE: Final = 4096
_LONGEST: Final = 200
_HOW: Final = "choose by typing: here ADDRESS | join ADDRESS CODE | leave"


@dataclass(frozen=True)
class Hearing:
    """Where somebody can say something: a descriptor, and where it is written down."""

    descriptor: int
    place: MeetingPlace


def render_plain(facts: Facts, now: datetime) -> str:
    """What is known, as text; keys do nothing here, and are not told of."""
    lines = [each.text.rstrip() for each in render_main(facts, now, _EXTENT)[:-2]]
    if facts.choice is not None:
        lines += [f"  {_command(each.want, each.ip)}" for each in menu_of(facts)]
        lines.append(_HOW)
    return "\n".join(line for line in lines if line)


def _command(want: Want, ip: str) -> str:
    code = " CODE" if want is Want.JOIN else ""
    place = f" {ip or 'ADDRESS'}" if want is not Want.LEAVE else ""
    return f"{want}{place}{code}"


def parse_command(text: str, name: str) -> Wish | None:
    """What somebody typed: here 192.0.2.10, join 192.0.2.10 K7QM3-XHDP2, leave; None when it is nothing."""
    want, *more = text.split() or [""]
    match want.lower(), more:
        case "leave", []:
            return Wish(name, Want.LEAVE)
        case "here", [ip]:
            return Wish(name, Want.HERE, ip)
        case "join", [ip, *code] if code:
            return Wish(name, Want.JOIN, ip, "".join(code))
    return None


@contextlib.contextmanager
def _hearing(hearing: Hearing | None, stream: TextIO) -> Iterator[None]:
    """Hear lines until the body ends."""
    if hearing is None:
        yield
        return
    loop, line = asyncio.get_running_loop(), bytearray()

    def hear() -> None:
        try:
            data = os.read(hearing.descriptor, _PIECE)
        except OSError:
            data = b""
        if not data:  # The line was hung up.
            loop.remove_reader(hearing.descriptor)
            return
        line.extend(data)
        *whole, rest = bytes(line).replace(b"\r", b"\n").split(b"\n")
        line[:] = rest[:_LONGEST]
        for each in whole:
            _obey(each.decode("ascii", "replace"), hearing.place, stream)

    loop.add_reader(hearing.descriptor, hear)
    try:
        yield
    finally:
        loop.remove_reader(hearing.descriptor)


def _obey(text: str, place: MeetingPlace, stream: TextIO) -> None:
    if not text.strip() or not place.is_generic:
        return
    wish = parse_command(text, secrets.token_hex(8))
    said = "it is being done" if wish is not None else _HOW
    try:
        if wish is not None:
            place.save_wish(wish)
    except MusterError as error:
        said = error.message
    stream.write(f"{said}\n")
    stream.flush()


async def show_plain(
    gatherer: Gatherer,
    stream: TextIO,
    clock: Callable[[], datetime],
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    hearing: Hearing | None = None,
) -> None:
    """Show what is known, for ever."""
    shown = ""
    with _hearing(hearing, stream):
        async for _ in gatherer.follow():
            await sleep(SETTLE_S)
            text = render_plain(gatherer.facts, clock())
            if text != shown:
                stream.write(f"\n{text}\n")
                stream.flush()
                shown = text
            await sleep(REST_S)
