# SPDX-License-Identifier: Apache-2.0
"""The service of a site without files, on the host that somebody chose before its console."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import socket
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path
from typing import Final

import msgspec

from muster.model.meeting import Meeting
from muster.model.service_card import ServiceCard
from muster.service.auth.passwords import hash_password
from muster.service.auth.personas import Grant, Persona, Scope
from muster.service.drivers.kubernetes import SiteTerms
from muster.service.hosting import Running, Sockets, now
from muster.service.house import House
from muster.service.interactive.attended import Attended
from muster.service.interactive.medium import GenericMedium
from muster.service.interactive.stock import stock_of
from muster.service.rendezvous.kept import keep_own, load_kept, save_kept
from muster.service.rendezvous.serving import NO_TIME_SERVERS, Here, beside, settings_of

_TOKEN_LASTS: Final = timedelta(days=30)
"""So long hosts can register that were switched on later."""


@contextlib.asynccontextmanager
async def serve_interactive(
    medium: GenericMedium, data: Path, listening: socket.socket, here: Here
) -> AsyncIterator[Running]:
    """Serve hosts that booted a generic medium, and people who make a cluster of them."""
    kept, stock = keep_own(data, medium.meeting), stock_of(medium)
    terms = SiteTerms(registries=medium.registries, trust_bundle=medium.trust_bundle, tuning=here.tuning)
    house = House("interactive", medium.meeting, medium.pull_secret)
    settings = dataclasses.replace(
        settings_of(kept, data, terms, house), offers=stock.offers, disabled=NO_TIME_SERVERS
    )
    running = Running(settings, Sockets(listening), stock.find)
    attended = Attended(running.service, medium.meeting, _admitting(running, data), here.clock)
    watching = attended.watch_rivals(here.find_rivals)
    async with running.serve(), beside(stock.fetch()), beside(attended.run()), beside(watching):
        yield running


def _admitting(running: Running, data: Path) -> Callable[[str], None]:
    """Lets people in with a password, also after the restart."""

    def admit(password: str) -> None:
        hashed = hash_password(password, os.urandom)
        save_kept(data, msgspec.structs.replace(load_kept(data), password_hash=hashed))
        running.login.accept(hashed)

    return admit


def agent_token(running: Running, meeting: Meeting) -> str:
    """What hosts register with, as if their medium had brought it."""
    expires = (now() + _TOKEN_LASTS).timestamp()
    return running.tokens.issue(Grant(Persona.MEDIUM, Scope(meeting.infra_env_id), expires))


def card_of(running: Running) -> ServiceCard:
    """What the console of this host shows of the service."""
    identity = running.identity
    return ServiceCard(running.url, identity.fingerprint, identity.authority_pem)
