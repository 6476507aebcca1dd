# SPDX-License-Identifier: Apache-2.0
"""The side of the rendezvous host: answers hosts that want to join, and gives nothing to who has no code."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import field
from ipaddress import IPv6Address, ip_address, ip_network
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
from muster.serving.quiet_log import QuietLog

_PATIENCE_S: Final = 15.0
_SILENCE_S: Final = 5.0
"""Until TLS is agreed upon and the question is there."""
_MOST: Final = 64
"""Connections at a time; for a new one the oldest that has not shown the code is dropped."""
_MOST_NETWORK: Final = 48
"""Of one network: /24 or /64."""
_MOST_EACH: Final = 4
"""Of one address."""
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


@dataclass
class Connection:
    """One connection to the join port."""

    address: str
    drop: Callable[[], object]
    """Ends the connection at once."""
    is_proven: bool = False
    """Whether it has shown that it has the code."""

    @property
    def network(self) -> str:
        """The network that it most likely comes from."""
        try:
            ip = ip_address(self.address.partition("%")[0])
        except ValueError:
            return ""
        if isinstance(ip, IPv6Address) and ip.ipv4_mapped is not None:
            ip = ip.ipv4_mapped
        return str(ip_network((ip, 64 if isinstance(ip, IPv6Address) else 24), strict=False))


def find_victim(there: Sequence[Connection], new: Connection) -> Connection | None:
    """Which connection makes room for a new one, if one has to: the oldest of the busiest address.

    So those who hold many connections lose them first, and a host that has one keeps it.
    """
    of_address = [each for each in there if each.address == new.address]
    of_network = [each for each in there if each.network == new.network]
    for group, most in ((of_address, _MOST_EACH), (of_network, _MOST_NETWORK), (there, _MOST)):
        if len(group) >= most:
            counts = Counter(each.address for each in group if not each.is_proven)
            busiest = max(counts.values(), default=0)
            return next(
                (each for each in group if counts[each.address] == busiest and not each.is_proven), None
            )
    return None


def is_full(there: Sequence[Connection]) -> bool:
    """Whether the port is full of connections that proved the code, so that no other is accepted."""
    return sum(each.is_proven for each in there) >= _MOST


class Doorman:
    """Answers at a socket."""

    def __init__(self, offer: Offer, context: ssl.SSLContext) -> None:
        self._offer, self._context = offer, context
        self._there: list[Connection] = []
        """In the order in which they came."""
        self._penalty = asyncio.Lock()
        self._quiet = QuietLog(_logger, time.monotonic)

    async def welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One who came."""
        task = asyncio.current_task()
        assert task is not None
        address = str((writer.get_extra_info("peername") or ("somewhere",))[0])
        guest = Connection(address, task.cancel)
        if (victim := find_victim(self._there, guest)) is not None:
            self._there.remove(victim)
            victim.drop()
        if not is_full(self._there):
            self._there.append(guest)
        try:
            if guest in self._there:
                async with asyncio.timeout(_PATIENCE_S):
                    await self._talk(reader, writer, guest)
        except (OSError, ValueError, TimeoutError):
            pass  # Whoever talks nonsense, or goes away, is no business of ours.
        except asyncio.CancelledError:
            if guest in self._there:
                raise  # The server ends; otherwise another connection took the place of this one.
        finally:
            self._there = [each for each in self._there if each is not guest]
            writer.close()
            with contextlib.suppress(OSError, TimeoutError, asyncio.CancelledError):
                async with asyncio.timeout(1.0):
                    await writer.wait_closed()

    async def _talk(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, guest: Connection
    ) -> None:
        async with asyncio.timeout(_SILENCE_S):
            # Not by the server: who never begins with TLS has to be among those who are counted.
            await writer.start_tls(self._context, ssl_handshake_timeout=_SILENCE_S)
            question = await read_line(reader, Question)
        said = answer(self._offer, question)
        guest.is_proven = question.ask != HELLO and said.refused != _WRONG
        if said.refused == _WRONG:
            self._quiet.note(guest.network, "%s asked with a wrong join code", guest.address)
            async with self._penalty:  # One after the other: nobody tries many codes in a short time.
                await asyncio.sleep(_PENALTY_S)
        if said.papers is not None:
            _logger.info("%s joins", guest.address)
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
        Doorman(offer, context).welcome,
        sock=open_socket(Endpoint("", port), "the meeting"),
        limit=MOST_BYTES,
    )
    async with server:
        yield
