# SPDX-License-Identifier: Apache-2.0
"""What a rendezvous host says into its networks, and what others make of it.

Anybody can send such a thing, so it is worth an address to ask at and no more: who is there is proven by the
code. All of it is bounded: the size of one, how many are known, how often they are looked at.
"""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address
from typing import Final

import msgspec

from muster.frozen import dataclass
from muster.redact import printable

VERSION: Final = 1
MOST_BYTES: Final = 512
MOST: Final = 16
"""So many rendezvous hosts are remembered."""
AGE_S: Final = 20.0
"""Who was not heard for so long is gone."""
_MOST_A_SECOND: Final = 50
_NAME: Final = 63
_DIGITS: Final = frozenset("0123456789abcdef")


class Announcement(msgspec.Struct, frozen=True):
    """A rendezvous host, as somebody says who may be anybody."""

    muster: int
    ip: str
    port: int
    authority: str
    """SHA-256 of its authority's certificate, in hexadecimal."""
    name: str = ""


@dataclass(frozen=True)
class Heard:
    """One that was heard, and when."""

    announcement: Announcement
    at: float


@dataclass(frozen=True)
class Ear:
    """What was heard so far."""

    heard: tuple[Heard, ...] = ()
    second: int = 0
    count: int = 0
    """How many came within that second."""

    @property
    def announcements(self) -> tuple[Announcement, ...]:
        """Who is there, in an order that stays."""
        return tuple(
            sorted((each.announcement for each in self.heard), key=lambda each: (each.name, each.ip))
        )


def render_announcement(announcement: Announcement) -> bytes:
    """As it is sent."""
    return msgspec.json.encode(announcement)


def parse_announcement(data: bytes) -> Announcement | None:
    """What somebody sent; None when it is not worth a thought."""
    if len(data) > MOST_BYTES:
        return None
    try:
        found = msgspec.json.decode(data, type=Announcement)
        address = ip_address(found.ip)
    except (ValueError, msgspec.DecodeError, RecursionError):
        return None
    is_digest = len(found.authority) == 64 and _DIGITS.issuperset(found.authority)
    if found.muster != VERSION or not is_digest or not 0 < found.port < 1 << 16:
        return None
    if address.is_multicast or address.is_unspecified or address.is_loopback or "%" in found.ip:
        return None
    name = printable(found.name.replace("\n", " ")).encode("ascii", "replace").decode("ascii")[:_NAME]
    return msgspec.structs.replace(found, ip=str(address), name=name)


def hear(ear: Ear, data: bytes, now: float) -> Ear:
    """Something came; more than a few within a second are not looked at."""
    count = ear.count + 1 if int(now) == ear.second else 1
    ear = replace(ear, second=int(now), count=count)
    found = parse_announcement(data) if count <= _MOST_A_SECOND else None
    if found is None:
        return ear
    others = [each for each in ear.heard if _key(each.announcement) != _key(found)]
    if len(others) == len(ear.heard) >= MOST:
        return ear  # Those that are known stay: a flood of strangers drives nobody out.
    return replace(ear, heard=(*others, Heard(found, now)))


def forget_old(ear: Ear, now: float) -> Ear:
    """Without those that were not heard for a while."""
    kept = tuple(each for each in ear.heard if 0 <= now - each.at < AGE_S)
    return ear if len(kept) == len(ear.heard) else replace(ear, heard=kept)


def _key(announcement: Announcement) -> tuple[str, str]:
    return announcement.ip, announcement.authority
