# SPDX-License-Identifier: Apache-2.0
"""What goes on after the choice: the rendezvous host takes others in, and these follow it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Final

import msgspec

from muster.agent.meeting.acting import RUN, SERVICE, Hand
from muster.agent.meeting.announcement import VERSION, Announcement, render_announcement
from muster.agent.meeting.choice import Standing
from muster.agent.meeting.code import derive_key
from muster.agent.meeting.hosting import Offer, serve_joining
from muster.agent.meeting.joining import Bond, Door, look
from muster.agent.meeting.place import Papers
from muster.agent.meeting.wire import Look, authority_der, digest_of
from muster.errors import MusterError
from muster.files import remove_file, save_file
from muster.frozen import dataclass
from muster.model.service_card import CARD_FILE, ServiceCard, parse_card

IDENTITY: Final = f"{SERVICE}/keys/server.pem"
_ANNOUNCE_S: Final = 2.0
_LOOK_S: Final = 5.0


@dataclass(frozen=True)
class Service:
    """The service of this host, as far as joining needs it."""

    card: ServiceCard
    changed: int
    """When its certificate was made."""


def find_service(root: Path) -> Service | None:
    """The service of this host; None while it is not up."""
    try:
        card = parse_card((root / RUN / CARD_FILE).read_bytes())
        changed = (root / IDENTITY).stat().st_mtime_ns
        return Service(card, changed) if card is not None and authority_der(card.authority) else None
    except (OSError, ValueError):
        return None


async def take_in(standing: Standing, hand: Hand, name: str, say: Callable[[bytes], None]) -> None:
    """Be the rendezvous host: take others in and say so, whenever the service is up; for ever."""
    while True:
        service = find_service(hand.root)
        if service is not None:
            await _take_in(standing, hand, service, (name, say))
        await asyncio.sleep(_ANNOUNCE_S)


async def _take_in(
    standing: Standing, hand: Hand, service: Service, means: tuple[str, Callable[[bytes], None]]
) -> None:
    name, say = means
    der = authority_der(service.card.authority)
    key = await asyncio.to_thread(derive_key, standing.code, der)
    offer = Offer(
        service.card.authority, key, name, lambda: hand.load_papers(standing), lambda: load_look(hand.root)
    )
    announcement = Announcement(VERSION, standing.ip, standing.port, digest_of(der), name)
    async with serve_joining(offer, hand.root / IDENTITY, standing.port):
        while find_service(hand.root) in (service, None):  # One that restarts has the same authority.
            say(render_announcement(announcement))
            await asyncio.sleep(_ANNOUNCE_S)


def load_look(root: Path) -> Look:
    """What the console of the rendezvous host shows, for those of the others."""
    try:
        return Look(parse_card((root / RUN / CARD_FILE).read_bytes()))
    except OSError:
        return Look()


async def follow(standing: Standing, papers: Papers, root: Path) -> None:
    """Have the consoles of a host that joined show what that of the rendezvous host shows; for ever."""
    key = await asyncio.to_thread(derive_key, standing.code, authority_der(papers.authority))
    bond = Bond(Door(ip_address(standing.ip), standing.port), papers.authority, key)
    while True:
        with suppress(MusterError):  # Its agent says on its board what is wrong.
            save_look(root, await look(bond))
        await asyncio.sleep(_LOOK_S)


def save_look(root: Path, found: Look) -> None:
    """Keep it where the consoles look; what is not new is not written."""
    path = root / RUN / CARD_FILE
    if found.card is None:
        remove_file(path)
        return
    data = msgspec.json.encode(found.card)
    if not path.exists() or path.read_bytes() != data:
        save_file(path, data, mode=0o644)
