# SPDX-License-Identifier: Apache-2.0
"""What a console knows at a moment."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from ipaddress import ip_interface
from typing import Any

from muster.agent.meeting.announcement import Announcement
from muster.agent.meeting.choice import Kind, Standing
from muster.board import Notice
from muster.client.snapshot import ServiceSight, Snapshot
from muster.frozen import dataclass
from muster.model.meeting import Meeting
from muster.model.service_card import LoginCode, ServiceCard


@dataclass(frozen=True)
class HostFacts:
    """What a host is."""

    name: str = ""
    model: str = ""
    serial: str = ""
    cpus: int = 0
    memory_bytes: int = 0


@dataclass(frozen=True)
class Link:
    """A network interface."""

    name: str
    has_link: bool
    addresses: tuple[str, ...] = ()
    """With the length of their prefix; those that count on one link come last."""
    mac: str = ""
    kind: str = ""
    """What it is if it is no card."""
    port_of: str = ""
    """The bond or bridge that it is a port of."""


@dataclass(frozen=True)
class Posted:
    """What a program of the host says that it does."""

    program: str
    notice: Notice


@dataclass(frozen=True)
class Choice:
    """Where the hosts meet, on a medium that leaves this to people."""

    standing: Standing
    found: tuple[Announcement, ...] = ()
    """Rendezvous hosts that are announced on the networks of this one; by anybody."""

    @property
    def is_open(self) -> bool:
        """Whether nobody has chosen yet."""
        return self.standing.kind is Kind.OPEN


@dataclass(frozen=True)
class Facts:
    """All of it."""

    host: HostFacts = HostFacts()
    boards: tuple[Posted, ...] = ()
    links: tuple[Link, ...] = ()
    has_links: bool = False
    """Whether they were looked at."""
    meeting: Meeting | None = None
    sight: ServiceSight | None = None
    """What the service shows now; None when it was not looked at."""
    known: ServiceSight | None = None
    """What it showed last when it showed the cluster."""
    code: LoginCode | None = None
    card: ServiceCard | None = None
    """What the service says of itself."""
    choice: Choice | None = None
    """None when the medium is of a site, or brought one."""
    notes: tuple[str, ...] = ()
    """What went otherwise than the site says while the host booted."""

    @property
    def is_rendezvous(self) -> bool:
        """Whether the hosts meet here."""
        if self.meeting is None:
            return False
        return any(ip_interface(each).ip == self.meeting.ip for link in self.links for each in link.addresses)

    @property
    def answers(self) -> bool:
        """Whether the service answers."""
        return self.sight is not None and self.sight.trouble is None

    @property
    def snapshot(self) -> Snapshot:
        """The installation, as far as it is known."""
        return Snapshot(self.known)


def parse_links(text: str) -> tuple[Link, ...]:
    """The interfaces in what `ip -j -d address` says; what makes no sense is left out."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return ()
    links = [_link(each) for each in found if isinstance(each, dict)] if isinstance(found, list) else []
    return tuple(each for each in links if each is not None)


def _link(found: dict[str, Any]) -> Link | None:
    name, flags = found.get("ifname"), found.get("flags")
    if not isinstance(name, str) or not isinstance(flags, list) or "LOOPBACK" in flags:
        return None
    info = found.get("linkinfo")
    return Link(
        name=name,
        has_link="LOWER_UP" in flags,
        addresses=_addresses(found.get("addr_info")),
        mac=str(found.get("address") or ""),
        kind=str(info.get("info_kind") or "") if isinstance(info, dict) else "",
        port_of=str(found.get("master") or ""),
    )


def _addresses(found: Any) -> tuple[str, ...]:
    texts = []
    for each in found if isinstance(found, list) else ():
        try:
            texts.append(ip_interface(f"{each['local']}/{each['prefixlen']}"))
        except (ValueError, KeyError, TypeError):
            continue
    return tuple(str(each) for each in sorted(texts, key=lambda each: each.is_link_local))


def render_moment(moment: datetime) -> str:
    """A time of day; all hosts of a site have the same."""
    return f"{moment.astimezone(UTC):%H:%M} UTC"
