# SPDX-License-Identifier: Apache-2.0
"""The service on the host that somebody chose as the rendezvous host, from a medium without a site."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

from muster.frozen import dataclass

if TYPE_CHECKING:
    from muster.board import Board
    from muster.machine import Machine
    from muster.model.meeting import Meeting
    from muster.service.hosting import Running
    from muster.service.rendezvous.clock import Judgement
    from muster.service.rendezvous.serving import Here


@dataclass(frozen=True)
class Showing:
    """What the console is told."""

    board: Board
    judgement: Judgement


async def run_interactive(machine: Machine, data: Path, here: Here, showing: Showing) -> None:
    """Serve, until told to end; other hosts and the console find on this host what they need."""
    from muster.cli.host_rendezvous import listen, serve, serving_at
    from muster.cli.host_rendezvous_clock import tell_others
    from muster.service.interactive.medium import load_generic
    from muster.service.interactive.serving import serve_interactive

    medium, listening = load_generic(machine.root), listen()
    meeting, judgement = medium.meeting, showing.judgement

    async def for_ever(running: Running) -> None:
        showing.board.show(serving_at(running.url), trouble=judgement.trouble, fix=judgement.fix)
        async with laid_out(running, meeting, machine.root):
            await tell_others(machine, await machine_networks(running, meeting.cluster_id))
            await asyncio.Event().wait()

    await serve(lambda: serve_interactive(medium, data, listening, here), showing.board, for_ever)


@contextlib.asynccontextmanager
async def laid_out(running: Running, meeting: Meeting, root: Path) -> AsyncIterator[None]:
    """What a site's medium would bring, where it would bring it; and the card for consoles, as the last."""
    import msgspec

    from muster.board import FOLDER
    from muster.errors import MusterError
    from muster.files import remove_file, save_file
    from muster.model.meeting import AGENT_TOKEN, SERVICE_AUTHORITY
    from muster.model.service_card import CARD_FILE
    from muster.service.interactive.serving import agent_token, card_of

    shown = root / str(FOLDER).lstrip("/") / CARD_FILE

    def put(path: str, text: str, mode: int) -> None:
        place = root / path.lstrip("/")
        place.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        save_file(place, text.encode(), mode=mode)

    def show_card() -> None:
        card = card_of(running)
        put(SERVICE_AUTHORITY, card.authority, 0o644)
        save_file(shown, msgspec.json.encode(card), mode=0o644)

    put(AGENT_TOKEN, agent_token(running, meeting), 0o600)
    show_card()
    running.certificate.on_renewed = show_card
    try:
        yield
    finally:
        with contextlib.suppress(MusterError):
            remove_file(shown)


async def machine_networks(running: Running, cluster_id: str) -> tuple[str, ...]:
    """The networks of the hosts, as soon as the cluster that people make has some and needs them."""
    engine = running.service.engine
    async with contextlib.aclosing(running.service.news.follow()) as news:
        while True:
            if engine.has_cluster(cluster_id):
                cluster = engine.cluster(cluster_id)
                found = tuple(each.cidr for each in cluster.machine_networks if each.cidr)
                if found and cluster.control_plane_count > 1:
                    return found
            await anext(news)
