# SPDX-License-Identifier: Apache-2.0
"""Which peers a host is to check now: new ones at once, a few at a time, and all of them after a while."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from muster.service.derive.bits import numbers_in, read_bits
from muster.service.derive.directory import Directory, directory_of
from muster.service.derive.phases import is_single_node
from muster.service.steps.cadence import PACES
from muster.service.steps.scene import Scene
from muster.service.steps.sent import Sent

FAN_OUT: Final = 64
"""An agent pings all that it is told of at the same time."""
_NAME: Final = "connectivity-check"
_AWAY: Final = frozenset({"disconnected", "discovering", "error", "cancelled", "binding", "resetting"})


def plan_peers(scene: Scene, sent: Sent) -> tuple[Sent, int]:
    """What is still to be checked, and which peers are checked now, as bits; none while a check runs."""
    directory = directory_of(scene.realm)
    own = 1 << scene.host.number
    if not directory.known & own or (scene.cluster is not None and is_single_node(scene.cluster)):
        return sent, 0
    sent = _what_is_new(scene, sent, directory)
    if _NAME in sent.running or not sent.todo:
        return sent, 0
    todo, peers = sent.todo, 0
    while todo and not peers:
        chosen = _choose(todo, scene.host.number)
        todo &= ~chosen
        peers = _present(scene, directory, chosen)
    return replace(sent, todo=todo, checked_at=sent.checked_at if todo else scene.now), peers


def _what_is_new(scene: Scene, sent: Sent, directory: Directory) -> Sent:
    host = scene.host
    others = directory.known & ~(1 << host.number)
    if sent.seen == directory.version and sent.todo == 0:
        return _again(scene, sent, directory)
    new = directory.changed_since(sent.seen)
    if sent.seen == 0:
        new &= ~read_bits(host.asked)
    checked_at = sent.checked_at or (scene.now if not new else None)
    return replace(sent, seen=directory.version, todo=(sent.todo | new) & others, checked_at=checked_at)


def _again(scene: Scene, sent: Sent, directory: Directory) -> Sent:
    """Those with which something is wrong are checked again soon, the others after a while."""
    pace, now = PACES[_NAME], scene.now
    if now >= _next_round(sent, len(directory.entries), now):
        return replace(sent, todo=directory.known & ~(1 << scene.host.number), rechecked_at=now)
    wrong = 0
    if scene.host.peers and _is_over(sent.rechecked_at or sent.checked_at, pace.again, now):
        for id in scene.host.peers:
            if (entry := directory.entries.get(id)) is not None:
                wrong |= 1 << entry.number
    return replace(sent, todo=wrong, rechecked_at=now) if wrong else sent


def _is_over(since: datetime | None, wait: timedelta, now: datetime) -> bool:
    return since is None or since + wait <= now


def _next_round(sent: Sent, hosts: int, now: datetime) -> datetime:
    """When all peers are checked again: the more there are, the later."""
    return (sent.checked_at or now) + PACES[_NAME].calm + timedelta(seconds=hosts)


def next_check(scene: Scene, sent: Sent) -> datetime:
    """When peers are checked again, if nothing new comes up before."""
    round_at = _next_round(sent, len(scene.realm.hosts), scene.now)
    since = sent.rechecked_at or sent.checked_at
    if not scene.host.peers or since is None:
        return round_at
    return min(round_at, since + PACES[_NAME].again)


def _choose(todo: int, number: int) -> int:
    """A few of many: those after the host itself first, so that not all begin with the same one."""
    after = todo >> number << number
    chosen = 0
    for count, each in enumerate((*_first(after), *_first(todo ^ after))):
        if count == FAN_OUT:
            break
        chosen |= 1 << each
    return chosen


def _first(bits: int) -> list[int]:
    numbers = numbers_in(bits)
    return [each for each, _ in zip(numbers, range(FAN_OUT), strict=False)]


def _present(scene: Scene, directory: Directory, chosen: int) -> int:
    """Without those that would not answer now; they are new again when they are back, or come up later."""
    hosts, present = scene.realm.hosts, 0
    for number in numbers_in(chosen):
        host = hosts.get(directory.ids.get(number, ""))
        if host is not None and host.status not in _AWAY and not host.silent:
            present |= 1 << number
    return present


def request_for(scene: Scene, peers: int) -> str:
    """How these peers can be reached, as the agent reads it."""
    directory = directory_of(scene.realm)
    bodies = (directory.entries[directory.ids[number]].body for number in numbers_in(peers))
    return f"[{b','.join(bodies).decode()}]"
