# SPDX-License-Identifier: Apache-2.0
"""The console on a terminal that cannot be drawn on: the same lines, one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Final, TextIO

from muster.client.view import Extent
from muster.console.facts import Facts
from muster.console.gathering import Gatherer
from muster.console.main_screen import render_main

REST_S: Final = 10.0
"""So long it is quiet between two pictures."""
SETTLE_S: Final = 1.0
"""What is new seldom comes alone."""
_EXTENT: Final = Extent(79, 24)


def render_plain(facts: Facts, now: datetime) -> str:
    """What is known, as text; keys do nothing here, and are not told of."""
    lines = [each.text.rstrip() for each in render_main(facts, now, _EXTENT)[:-2]]
    return "\n".join(line for line in lines if line)


async def show_plain(
    gatherer: Gatherer,
    stream: TextIO,
    clock: Callable[[], datetime],
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Show what is known, for ever."""
    shown = ""
    async for _ in gatherer.follow():
        await sleep(SETTLE_S)
        text = render_plain(gatherer.facts, clock())
        if text != shown:
            stream.write(f"\n{text}\n")
            stream.flush()
            shown = text
        await sleep(REST_S)
