# SPDX-License-Identifier: Apache-2.0
"""Where the service is, for people and for telephones: as text, and as a QR code of half blocks."""

from __future__ import annotations

from datetime import datetime
from itertools import zip_longest
from typing import Final

import segno

from muster.client.view import Extent
from muster.console.facts import Facts, render_moment
from muster.console.lines import Line, Tone, fit, title

_BORDERS: Final = (4, 2, 1)
_BLOCKS: Final = {(True, True): " ", (True, False): "▄", (False, True): "▀", (False, False): "█"}
"""By whether the module above and that below is dark: what is light is drawn, on a screen that is dark."""
_KEYS: Final = "Esc: back"
_BYTES: Final = 8
"""So many of a fingerprint stand in a line."""


def login_url(facts: Facts, now: datetime) -> str:
    """Where a browser goes; with the code behind #, which it tells to nobody but the page."""
    if facts.meeting is None:
        return ""
    url = facts.card.url if facts.card else facts.meeting.url
    code = facts.code.code.replace(" ", "") if facts.code is not None and facts.code.until > now else ""
    return f"{url}/#code={code}" if code else f"{url}/"


def render_qr(text: str, extent: Extent) -> list[str]:
    """A QR code with as wide a border as there is room for; nothing when it does not fit."""
    code = segno.make(text, error="l", micro=False, boost_error=False)
    for border in _BORDERS:
        rows = [[bool(each) for each in row] for row in code.matrix_iter(border=border)]
        if (len(rows) + 1) // 2 <= extent.height and len(rows[0]) <= extent.width:
            light = [False] * len(rows[0])
            return [
                "".join(_BLOCKS[pair] for pair in zip(above, below, strict=True))
                for above, below in zip_longest(rows[::2], rows[1::2], fillvalue=light)
            ]
    return []


def render_where(facts: Facts, now: datetime, extent: Extent, *, with_blocks: bool) -> list[Line]:
    """The page: the code on the left, if this terminal can show it, and the same in words."""
    width = extent.width
    heading = title("Where the service is", "", width)
    url = login_url(facts, now)
    if not url:
        return [
            heading,
            Line(""),
            Line("  Nobody has chosen yet where the hosts meet (m)."),
            Line(_KEYS, Tone.DIM),
        ]
    picture = render_qr(url, Extent(width, extent.height - 2)) if with_blocks else []
    left = len(picture[0]) + 2 if picture else 2
    words = _words(facts, now, url)
    lines = [heading]
    for row, text in zip_longest(picture, words, fillvalue=""):
        shown = fit(text, width - left) if picture else fit(text, width - 2)
        lines.append(Line(f"{row:<{left}}{shown}" if picture else f"  {shown}"))
    return [*lines, Line(fit(_KEYS, width), Tone.DIM)]


def _words(facts: Facts, now: datetime, url: str) -> list[str]:
    words = ["", url.partition("/#")[0]]
    if facts.code is not None and facts.code.until > now:
        words += ["", f"login code {facts.code.code}", f"once, until {render_moment(facts.code.until)}"]
    if facts.card is not None:
        parts = facts.card.fingerprint.split(":")
        words += ["", "its certificate (SHA-256):"]
        words += [":".join(parts[start : start + _BYTES]) for start in range(0, len(parts), _BYTES)]
    return words
