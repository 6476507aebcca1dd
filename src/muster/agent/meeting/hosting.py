# SPDX-License-Identifier: Apache-2.0
"""The side of the rendezvous host: answers hosts that want to join, and gives nothing to who has no code."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import field
from pathlib import Path
from typing import Final

from muster.agent.meeting.code import is_proven, prove
from muster.agent.meeting.place import Papers
from muster.agent.meeting.wire import (
    HELLO,
    LOOK,
    MOST_BYTES,
    Answer,
    Hello,
    Look,
    Question,
    read_line,
    render_line,
)
from muster.errors import ExternalError
from muster.frozen import dataclass
from muster.serving.listen import Endpoint, open_socket

_PATIENCE_S: Final = 15.0
_MOST: Final = 64
"""So many are answered at a time; others are turned away."""
_MOST_EACH: Final = 4
"""So many from one address."""
_PENALTY_S: Final = 1.0
_logger: Final = logging.getLogger(__name__)
_WRONG: Final = "that is not the join code of this host"


@dataclass(frozen=True)
class Offer:
    """What a rendezvous host has for those who join."""

    authority: str
    key: bytes = field(repr=False)
    name: str
    papers: Callable[[], Papers | None]
    look: Callable[[], Look]


def answer(offer: Offer, question: Question) -> Answer:
    """What somebody is told."""
    if question.ask == HELLO:
        return Answer(hello=Hello(offer.authority, prove(offer.key, HELLO), offer.name))
    if not is_proven(offer.key, question.ask, question.proof):
        return Answer(refused=_WRONG)
    if question.ask == LOOK:
        return Answer(look=offer.look())
    papers = offer.papers()
    if papers is None:
        return Answer(refused="its service is not up yet", later=True)
    return Answer(papers=papers)


class Doorman:
    """Answers at a socket."""

    def __init__(self, offer: Offer) -> None:
        self._offer = offer
        self._inside: Counter[str] = Counter()
        """How many there are from each address."""
        self._penalty = asyncio.Lock()

    async def welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One who came."""
        guest = str((writer.get_extra_info("peername") or ("somewhere",))[0])
        self._inside[guest] += 1
        try:
            if self._inside[guest] <= _MOST_EACH and self._inside.total() <= _MOST:
                async with asyncio.timeout(_PATIENCE_S):
                    await self._talk(reader, writer, guest)
        except (OSError, ValueError, TimeoutError):
            pass  # Whoever talks nonsense, or goes away, is no business of ours.
        finally:
            self._inside[guest] -= 1
            self._inside += Counter()  # Who is not there any more is forgotten.
            writer.close()
            with contextlib.suppress(OSError, TimeoutError, asyncio.CancelledError):
                async with asyncio.timeout(1.0):
                    await writer.wait_closed()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, guest: str) -> None:
        question = await read_line(reader, Question)
        said = answer(self._offer, question)
        if said.refused == _WRONG:
            _logger.warning("%s asked with a wrong join code", guest)
            async with self._penalty:  # One after the other: nobody tries many codes in a short time.
                await asyncio.sleep(_PENALTY_S)
        if said.papers is not None:
            _logger.info("%s joins", guest)
        writer.write(render_line(said))
        await writer.drain()


@contextlib.asynccontextmanager
async def serve_joining(offer: Offer, identity: Path, port: int) -> AsyncIterator[None]:
    """Answer at all addresses until the body ends, with the certificate and key in one file."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(identity)
    except OSError as error:  # What TLS does not like is one, too.
        raise ExternalError(
            f"{identity} cannot be used: {error.strerror or error}", hint="the service makes it anew"
        ) from error
    server = await asyncio.start_server(
        Doorman(offer).welcome,
        sock=open_socket(Endpoint("", port), "the meeting"),
        ssl=context,
        limit=MOST_BYTES,
        ssl_handshake_timeout=_PATIENCE_S,
    )
    async with server:
        yield
