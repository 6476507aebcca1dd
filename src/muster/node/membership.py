# SPDX-License-Identifier: Apache-2.0
"""How a member of etcd with an empty disk starts: by what the others know of it.

One that never started has told nobody where its clients find it: it starts as all do at first. For one that
has, the others count on entries that it lost with its disk: it must not start as if it were the same.
It is replaced: its old entry goes, it comes in as a learner, which has no vote, and gets one when in step.
Nobody's entry but its own is ever touched.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from muster.frozen import dataclass
from muster.model.voters import Voters


@dataclass(frozen=True)
class Known:
    """A member, as etcd has it."""

    id: int
    name: str
    """Empty for one that was added later and never started."""
    peers: tuple[str, ...]
    clients: tuple[str, ...] = ()
    """Where it is asked: it says so itself when it starts for the first time."""
    is_learner: bool = False

    @property
    def has_started(self) -> bool:
        return bool(self.clients)

    @property
    def hex_id(self) -> str:
        """As etcdctl wants it."""
        return f"{self.id:x}"


@dataclass(frozen=True)
class View:
    """What the other members say; nothing at all when none of them answers."""

    members: tuple[Known, ...] = ()
    healthy: int = 0
    """How many other voters see a majority."""


@dataclass(frozen=True)
class New:
    """Start as all members do at first."""


@dataclass(frozen=True)
class Replace:
    """Become a new member: remove the old entry, if there is one, and come in as a learner."""

    old: Known | None


@dataclass(frozen=True)
class Join:
    """The entry is there already: start with the list as it is."""

    members: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Wait:
    """Nothing can be done now; ask again."""

    reason: str
    fix: str


Step = New | Replace | Join | Wait


def choose_start(voters: Voters, view: View) -> Step:
    """What a member without data does next."""
    if not view.members:
        if view.healthy:
            return Wait("the other members of etcd answer, but do not say who they are", "look at their logs")
        return New()
    strangers = [each for each in view.members if _is_confused(each, voters)]
    if strangers:
        other = strangers[0]
        return Wait(
            f"etcd has a member {other.name} at {', '.join(other.peers)}, and this host is {voters.name} at "
            f"{voters.own_peer}",
            f"if that one is gone for good, remove it on another host: etcdctl member remove {other.hex_id}",
        )
    own = find_own(voters, view.members)
    if own is not None and not own.has_started:
        return Join(list_members(voters, view.members)) if own.is_learner else New()
    short = _lacking(view)
    if short:
        return Wait(
            f"{voters.name} was a member of etcd before and has to be replaced, for which {short} more of "
            "the other members have to be there",
            "start the other control-plane hosts; if they are lost for good, restore etcd from a snapshot",
        )
    return Replace(own)


def _is_confused(member: Known, voters: Voters) -> bool:
    """Whether it has our name or our address, but not both."""
    has_address = voters.own_peer in member.peers
    return bool(member.name) and has_address != (member.name == voters.name)


def _lacking(view: View) -> int:
    """How many voters are missing for a change of the members that leaves a majority."""
    voters = sum(not each.is_learner for each in view.members)
    return max(0, voters // 2 + 1 - view.healthy)


def find_own(voters: Voters, members: tuple[Known, ...]) -> Known | None:
    """This host's entry."""
    return next((each for each in members if voters.own_peer in each.peers), None)


def list_members(voters: Voters, members: tuple[Known, ...]) -> tuple[tuple[str, str], ...]:
    """Names and addresses as they are at this moment; those without a name have that of the beginning."""
    first = {url: name for name, url in voters.initial}
    return tuple(
        (each.name or first.get(url, f"member-{each.hex_id}"), url) for each in members for url in each.peers
    )


_KEYS: Final = {"id": "ID", "peers": "peerURLs", "clients": "clientURLs", "is_learner": "isLearner"}


class _Entry(msgspec.Struct, rename=_KEYS):
    id: int
    name: str = ""
    peers: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()
    is_learner: bool = False


class _List(msgspec.Struct):
    members: tuple[_Entry, ...] = ()


def parse_members(text: str) -> tuple[Known, ...]:
    """What `etcdctl member list` or `member add` says as JSON; nothing when it is something else."""
    try:
        found = msgspec.json.decode(text, type=_List)
    except msgspec.DecodeError:
        return ()
    return tuple(
        Known(each.id, each.name, each.peers, each.clients, each.is_learner) for each in found.members
    )


def count_healthy(text: str) -> int:
    """What `etcdctl endpoint health` says as JSON."""
    try:
        found: Any = msgspec.json.decode(text)
        return sum(each["health"] is True for each in found)
    except (msgspec.DecodeError, TypeError, KeyError):
        return 0
