# SPDX-License-Identifier: Apache-2.0
"""The main screen: all that matters of a host, in whatever room there is, from 80x24 on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from muster import __version__
from muster.agent.meeting.announcement import Announcement
from muster.agent.meeting.code import render_code
from muster.client.snapshot import Trouble
from muster.client.telling import Cause, cause_words, troubles_of
from muster.client.view import Extent, cluster_line, host_lines
from muster.console.facts import Choice, Facts, HostFacts, Link, Posted, render_moment
from muster.console.lines import LABEL, Line, Tone, explain, fit, labelled, spell, title, wrap_text
from muster.units import render_size

KEYS: Final = "? help  n network  r recheck  c checks  h hosts  a links  l log  b USB  s shell"
GENERIC_KEYS: Final = "? help  m meeting  u QR  n network  c checks  h hosts  a links  l log  b USB"
_NAMES: Final = {
    "meet": "choice",
    "install-notice": "installer",
    "rendezvous": "meeting",
    "agent": "agent",
    "clock": "clock",
}
"""What people call the programs, in the order of what matters most."""
_BOARD_LINES: Final = 5
_LINK_LINES: Final = 3
_NOTE_LINES: Final = 2
_FOUND_LINES: Final = 3
_HOST_LINES: Final = 3
"""So many hosts are shown however much is wrong."""
_PASSWORD: Final = "auth/kubeadmin-password"  # noqa: S105 - where it is


def render_main(facts: Facts, now: datetime, extent: Extent, message: str = "") -> list[Line]:
    """The whole screen; not one line or column more than there is room for."""
    width = extent.width
    top = [
        title(f"Muster {__version__}  {facts.host.name}", "rendezvous host" * facts.is_rendezvous, width),
        *labelled("host", [render_host(facts.host)], width),
        *_doing(facts.boards, width)[:_BOARD_LINES],
        *_network(facts, width),
        *_meeting(facts, width),
        *_login(facts, now, width),
        *list(labelled("note", [*_rivals(facts.choice), *facts.notes], width, Tone.HINT))[:_NOTE_LINES],
    ]
    foot = [Line(each, Tone.HINT) for each in wrap_text(message, width, most=2)] or [Line("")]
    foot.append(Line(fit(KEYS if facts.choice is None else GENERIC_KEYS, width), Tone.DIM))
    height = max(0, extent.height - len(foot))
    body = [*top, *_installation(facts, width, max(0, height - len(top)))][:height]
    return [*body, *[Line("")] * (height - len(body)), *foot]


def render_host(host: HostFacts) -> str:
    """What a host is, in a line."""
    parts = [
        host.model,
        f"serial {host.serial}" if host.serial else "",
        f"{host.cpus} CPU{'' if host.cpus == 1 else 's'}" if host.cpus else "",
        render_size(host.memory_bytes) if host.memory_bytes else "",
    ]
    return ", ".join(each for each in parts if each) or "nothing is known of it"


def failing_checks(facts: Facts) -> list[Cause]:
    """Everything that stands in the way, of this host first."""
    snapshot = facts.snapshot
    found = troubles_of(snapshot, 0) if snapshot.cluster is not None else ()
    return sorted(found, key=lambda each: each.label != facts.host.name)


def _doing(boards: Sequence[Posted], width: int) -> list[Line]:
    """What the programs do; one that cannot go on comes first."""
    order = [*_NAMES]
    known = sorted(
        boards,
        key=lambda each: (
            not each.notice.trouble,
            order.index(each.program) if each.program in order else len(order),
        ),
    )
    if not known:
        return list(labelled("does", ["it starts"], width))
    lines: list[Line] = []
    for each in known:
        notice = each.notice
        details = f": {', '.join(notice.details)}" if notice.details else ""
        name = _NAMES.get(each.program, each.program)
        text = f"{name}: {notice.doing}{details} (since {render_moment(notice.since)})"
        lines += labelled("" if lines else "does", [text], width)
        if notice.trouble:
            lines += (Line(each, Tone.BAD) for each in wrap_text(notice.trouble, width, " " * LABEL, 2))
        if notice.fix:
            lines += (
                Line(each, Tone.HINT) for each in wrap_text(f"fix: {notice.fix}", width, " " * LABEL, 1)
            )
    return lines


def usable_links(links: Sequence[Link]) -> list[Link]:
    """Interfaces that can have addresses: those that have some first, then those with a link."""
    found = (each for each in links if not each.port_of)
    return sorted(found, key=lambda each: (not each.addresses, not each.has_link))


def _network(facts: Facts, width: int) -> Iterator[Line]:
    ordered = usable_links(facts.links)
    shown = ordered if len(ordered) <= _LINK_LINES else ordered[: _LINK_LINES - 1]
    for number, each in enumerate(shown):
        tone = Tone.PLAIN if each.has_link else Tone.DIM
        yield from labelled("" if number else "network", [render_link(each)], width, tone)
    if len(shown) < len(ordered):
        yield from labelled("", [f"and {len(ordered) - len(shown)} more (a)"], width, Tone.DIM)
    if not ordered and facts.has_links:
        yield from labelled("network", ["no network card is known"], width, Tone.BAD)


def render_link(link: Link) -> str:
    """An interface in a line."""
    state = "up" if link.has_link else "no link"
    return f"{link.name} {state}  {'  '.join(link.addresses) or 'no address'}"


def _meeting(facts: Facts, width: int) -> Iterator[Line]:
    meeting, sight = facts.meeting, facts.sight
    if meeting is None:
        yield from _choosing(facts.choice, width)
        return
    where = f"{meeting.ip} ({'this host' if facts.is_rendezvous else 'another host'})"
    if sight is None:
        yield from labelled("meets at", [f"{where}: it is being asked"], width)
    elif sight.trouble is None:
        yield from labelled("meets at", [f"{where}: it answers"], width, Tone.GOOD)
    else:
        verb = "does not answer" if sight.trouble is Trouble.SILENT else "is in trouble"
        yield from labelled("meets at", [f"{where}: it {verb}: {sight.words}"], width, Tone.BAD)


def _choosing(choice: Choice | None, width: int) -> Iterator[Line]:
    """Nobody has said yet where the hosts meet."""
    if choice is None:
        text = "this medium does not say where the hosts meet; a configuration has to come first"
        yield from labelled("meets at", [text], width, Tone.HINT)
        return
    yield from labelled("meets at", ["not chosen yet: press m to say where the hosts meet"], width, Tone.HINT)
    texts = [render_found(each) for each in choice.found[:_FOUND_LINES]]
    yield from labelled("found", texts, width)


def _rivals(choice: Choice | None) -> list[str]:
    """Rendezvous hosts besides the one that was chosen: a mistake, or the next choice."""
    if choice is None or choice.is_open:
        return []
    own = choice.standing
    others = [each for each in choice.found if each.ip != own.ip and each.authority != own.authority]
    return [f"another rendezvous host (m): {render_found(each)}" for each in others]


def render_found(announcement: Announcement) -> str:
    """A rendezvous host that somebody announces."""
    return f"{announcement.name or 'a host'} at {announcement.ip}, authority {announcement.authority[:8]}"


def _login(facts: Facts, now: datetime, width: int) -> Iterator[Line]:
    if facts.meeting is None:
        return
    password = "" if facts.choice is not None else f"{_PASSWORD}, or "
    if facts.code is not None and facts.is_rendezvous and facts.code.until > now:
        others = f", or {_PASSWORD}" if password else ""
        how = f"code {facts.code.code} (once, until {render_moment(facts.code.until)}){others}"
    elif facts.choice is not None and facts.is_rendezvous:
        how = "the code comes as soon as the service is up"
    else:
        how = f"{password}the code on the rendezvous host's console"
    yield from labelled("service", [facts.card.url if facts.card else facts.meeting.url], width)
    yield from labelled("login", [how], width)
    if facts.card is not None:
        half = len(facts.card.fingerprint) // 2 + 1
        parts = [facts.card.fingerprint[:half].rstrip(":"), facts.card.fingerprint[half:]]
        yield from labelled("SHA-256", parts, width)
    if facts.choice is not None and facts.choice.standing.code:
        text = f"{render_code(facts.choice.standing.code)}: type it on each host that is to join"
        yield from labelled("join code", [text], width, Tone.GOOD)


def _installation(facts: Facts, width: int, room: int) -> list[Line]:
    """The cluster, its hosts and what fails: hosts get the room that checks leave, but some in any case."""
    known, hosts = facts.known, facts.snapshot.hosts
    if known is None or known.cluster is None or room <= 0:
        return []
    checks = _checks(failing_checks(facts), width, 3)
    if len(checks) + len(hosts) + 1 > room:
        checks = _checks(failing_checks(facts), width, 1)
    hosts_room = max(min(len(hosts), _HOST_LINES), room - 1 - len(checks))
    lines = [Line(fit(_indented(cluster_line(known, is_old=not facts.answers)), width))]
    lines += [Line(fit(spell(each), width)) for each in host_lines(hosts, max(1, hosts_room))]
    left = room - len(lines)
    if len(checks) > left > 0:
        checks = [*checks[: left - 1], Line("  and more (c)", Tone.DIM)]
    return [*lines, *checks[: max(0, left)]]


def _indented(text: str) -> str:
    """The line of the cluster, its label as wide as the others."""
    label, _, rest = text.partition(" ")
    return f"{label:<{LABEL}}{spell(rest.strip())}"


def _checks(found: Sequence[Cause], width: int, most: int) -> list[Line]:
    """What fails; so many lines of each fix are shown."""
    if not found:
        return list(labelled("checks", ["none fails"], width, Tone.GOOD))
    count = f"{len(found)} {'needs' if len(found) == 1 else 'need'} somebody (c)"
    lines = list(labelled("checks", [count], width, Tone.BAD))
    for each in found:
        lines.append(Line(fit(f"  {spell(each.label)}: {spell(cause_words(each))}", width), Tone.BAD))
        lines += explain("fix", each.fix, width, Tone.HINT, most)
    return lines
