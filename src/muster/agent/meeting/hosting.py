# SPDX-License-Identifier: Apache-2.0
"""The side of the rendezvous host: answers hosts that want to join, and gives nothing to who has no code."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
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

_PATIENCE_S: Final = 15.0
_MOST: Final = 32
"""So many are answered at a time; others are turned away."""
_PENALTY_S: Final = 1.0
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
        self._inside = 0
        self._penalty = asyncio.Lock()

    async def welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One who came."""
        self._inside += 1
        try:
            if self._inside <= _MOST:
                async with asyncio.timeout(_PATIENCE_S):
                    await self._talk(reader, writer)
        except (OSError, ValueError, TimeoutError):
            pass  # Whoever talks nonsense, or goes away, is no business of ours.
        finally:
            self._inside -= 1
            writer.close()
            with contextlib.suppress(OSError, TimeoutError, asyncio.CancelledError):
                async with asyncio.timeout(1.0):
                    await writer.wait_closed()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        said = answer(self._offer, await read_line(reader, Question))
        if said.refused == _WRONG:
            async with self._penalty:  # One after the other: nobody tries many codes in a short time.
                await asyncio.sleep(_PENALTY_S)
        writer.write(render_line(said))
        await writer.drain()


@contextlib.asynccontextmanager
async def serve_joining(
    offer: Offer, identity: Path, port: int, address: str | None = None
) -> AsyncIterator[int]:
    """Answer until the body ends, with the certificate and key in one file; the port that it is."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(identity)
        server = await asyncio.start_server(
            Doorman(offer).welcome,
            address,
            port,
            ssl=context,
            limit=MOST_BYTES,
            ssl_handshake_timeout=_PATIENCE_S,
            reuse_address=True,
        )
    except (OSError, ssl.SSLError) as error:
        raise ExternalError(
            f"hosts cannot join at port {port}: {error.strerror or error}", hint="see who else uses that port"
        ) from error
    async with server:
        yield server.sockets[0].getsockname()[1]
