# SPDX-License-Identifier: Apache-2.0
"""What somebody chooses before a console, how a host stands, and what follows from both. Pure."""

from __future__ import annotations

from enum import StrEnum
from ipaddress import ip_address
from typing import Final

import msgspec

from muster.agent.meeting.code import parse_code
from muster.frozen import dataclass
from muster.links import IP
from muster.model.meeting import JOIN_PORT


class Want(StrEnum):
    """What somebody wants of a host."""

    HERE = "here"
    """The others meet at this one."""
    JOIN = "join"
    LEAVE = "leave"
    """Begin anew: forget what was chosen."""


class Wish(msgspec.Struct, frozen=True, omit_defaults=True):
    """What somebody chose; each time that somebody does it has another name."""

    name: str
    want: Want
    ip: str = ""
    code: str = ""
    """As it was typed."""
    port: int = JOIN_PORT
    authority: str = ""
    """The authority that was announced there, if it was; another one is not joined."""


class Kind(StrEnum):
    """How a host stands."""

    OPEN = "open"
    HERE = "here"
    JOINED = "joined"
    LEAVING = "leaving"
    """What was chosen is being forgotten."""


class Standing(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a host stands; what is known only here survives the program, not the host."""

    kind: Kind = Kind.OPEN
    ip: str = ""
    """Where the hosts meet."""
    port: int = JOIN_PORT
    code: str = ""
    """The code by which hosts join."""
    authority: str = ""
    """SHA-256 of the authority that was joined."""
    cluster_id: str = ""
    infra_env_id: str = ""
    handled: str = ""
    """The wish that was seen to last."""
    trouble: str = ""
    """Why it could not be fulfilled."""
    fix: str = ""


@dataclass(frozen=True)
class Sight:
    """What has to be known of a host to decide."""

    addresses: tuple[IP, ...] = ()
    is_configured: bool = False
    """Whether it has a configuration that was not chosen here: a medium brought it."""


class Act(StrEnum):
    """What is to be done."""

    REST = "rest"
    LEAVE = "leave"
    SETTLE = "settle"
    JOIN = "join"
    NOTE = "note"
    """There is nothing to do, or it cannot be done; that is noted."""


@dataclass(frozen=True)
class Step:
    """What is to be done next; with a trouble, why nothing is."""

    act: Act
    trouble: str = ""
    fix: str = ""


_REST: Final = Step(Act.REST)


def decide(standing: Standing, wish: Wish | None, sight: Sight) -> Step:
    """What is to be done next. What was begun is ended first."""
    if standing.kind is Kind.LEAVING:
        return Step(Act.LEAVE)
    if wish is None or wish.name == standing.handled:
        return _REST
    if wish.want is Want.LEAVE:
        return Step(Act.NOTE if standing.kind is Kind.OPEN else Act.LEAVE)
    if sight.is_configured:
        return Step(
            Act.NOTE,
            "this host has the configuration of a site already",
            "restart it without the configuration medium to choose anew",
        )
    ip = _parse(wish.ip)
    if ip is None:
        return Step(Act.NOTE, f"{wish.ip or 'nothing'} is no address", "give it like 192.0.2.10 or fd00::10")
    return _settle(standing, ip, sight) if wish.want is Want.HERE else _join(wish, ip, sight)


def _settle(standing: Standing, ip: IP, sight: Sight) -> Step:
    if ip not in sight.addresses:
        return Step(Act.NOTE, f"this host does not have the address {ip}", "choose one that it has")
    if standing.kind is Kind.OPEN:
        return Step(Act.SETTLE)
    is_same = standing.kind is Kind.HERE and _parse(standing.ip) == ip
    return Step(Act.NOTE if is_same else Act.LEAVE)


def _join(wish: Wish, ip: IP, sight: Sight) -> Step:
    if ip in sight.addresses:
        return Step(
            Act.NOTE, f"{ip} is this host itself", "choose another one, or make this one the rendezvous host"
        )
    if parse_code(wish.code) is None:
        return Step(
            Act.NOTE,
            "that is no code: it has ten letters and digits",
            "type the join code that the console of the rendezvous host shows",
        )
    return Step(Act.JOIN)


def _parse(text: str) -> IP | None:
    try:
        return ip_address(text.strip())
    except ValueError:
        return None
