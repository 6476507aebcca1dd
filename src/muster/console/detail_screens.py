# SPDX-License-Identifier: Apache-2.0
"""The screens with all of something: checks, hosts, addresses, lines of the journal, what keys do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from muster.client.telling import cause_words
from muster.client.view import Extent, host_lines
from muster.console.facts import Facts
from muster.console.lines import Line, Tone, explain, fit, spell, title, wrap_text
from muster.console.main_screen import failing_checks

_HELP: Final = (
    ("F1 ?", "this page"),
    ("m", "on a generic medium: say where the hosts meet, join a rendezvous host, or start over"),
    ("u", "where the service is, as a code that a telephone reads (on screens)"),
    ("F2 n", "change the network of this host; the old one comes back by itself if the new one is worse"),
    ("r", "tell the service anew what this host is made of; failing checks are made again"),
    ("c", "all failing checks, why they matter and what to do"),
    ("h", "all hosts and how far they are"),
    ("a", "all network interfaces"),
    ("l", "the last lines of the journal of Muster's programs"),
    ("b", "save a support bundle to a USB stick; nothing is formatted"),
    ("s", "a shell, if this site allows it; `exit` comes back"),
    ("Ctrl-L", "draw the screen anew; any key that means nothing else does it, too"),
    ("Esc q", "back to the main screen"),
)
_PAGE_KEYS: Final = "Up Down PgUp PgDn Home End: move   Esc: back"


def render_checks(facts: Facts, width: int) -> list[Line]:
    """Everything that fails, with why and what to do."""
    lines: list[Line] = []
    for each in failing_checks(facts):
        text = f"{each.label}: {cause_words(each)}"
        lines += [Line(part, Tone.BAD) for part in wrap_text(text, width)]
        lines += explain("why", each.why, width)
        lines += explain("fix", each.fix, width, Tone.HINT)
        lines.append(Line(""))
    return lines or [Line(_no_checks(facts), Tone.GOOD if facts.known else Tone.HINT)]


def _no_checks(facts: Facts) -> str:
    return "no check fails" if facts.known else "the service has not told of any check yet"


def render_hosts(facts: Facts, width: int) -> list[Line]:
    """All hosts."""
    hosts = facts.snapshot.hosts
    lines = [Line(fit(spell(each), width)) for each in host_lines(hosts, max(1, len(hosts)))]
    return lines or [Line("the service has not told of any host yet", Tone.HINT)]


def render_links(facts: Facts, width: int) -> list[Line]:
    """All interfaces and their addresses."""
    lines: list[Line] = []
    for link in facts.links:
        state = "up" if link.has_link else "no link"
        more = [link.kind, link.mac, f"port of {link.port_of}" if link.port_of else ""]
        text = f"{link.name}: {', '.join(each for each in (state, *more) if each)}"
        lines.append(Line(fit(spell(text), width), Tone.PLAIN if link.has_link else Tone.DIM))
        lines += [Line(fit(f"    {each}", width)) for each in link.addresses or ("no address",)]
    return lines or [Line("no network card is known", Tone.BAD)]


def render_journal(text: str, width: int) -> list[Line]:
    """Lines of the journal, none of them cut."""
    lines = [part for line in text.splitlines() for part in wrap_text(line, width) or [""]]
    return [Line(each) for each in lines] or [Line("the journal has no line of Muster's programs", Tone.HINT)]


def render_help(width: int) -> list[Line]:
    """What keys do."""
    lines = []
    for keys, words in _HELP:
        first, *rest = wrap_text(words, width - 10)
        lines += [Line(f"  {keys:<8}{first}"), *(Line(f"{'':<10}{each}") for each in rest)]
    return lines


def render_page(name: str, lines: Sequence[Line], offset: int, extent: Extent) -> list[Line]:
    """A part of something longer: as much as there is room for, and where in it one is."""
    room = max(1, extent.height - 3)
    offset = clamp(offset, len(lines), extent)
    shown = [*lines[offset : offset + room]]
    last = min(len(lines), offset + room)
    where = f"{offset + 1}-{last} of {len(lines)}" if len(lines) > room else ""
    return [
        title(name, where, extent.width),
        *shown,
        *([Line("")] * (room - len(shown) + 1)),
        Line(fit(_PAGE_KEYS, extent.width), Tone.DIM),
    ]


def clamp(offset: int, count: int, extent: Extent) -> int:
    """Where a page can begin at the latest, so that it is full."""
    return max(0, min(offset, count - max(1, extent.height - 3)))
