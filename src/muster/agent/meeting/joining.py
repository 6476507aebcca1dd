# SPDX-License-Identifier: Apache-2.0
"""The side of a host that joins: nothing is believed before the other side has proven that it has the code.

First the other one is asked who it is, without any trust; its authority counts only if the answer proves the
code for that very authority. Everything else is asked again, of a server whose certificate is of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
from typing import Final

from muster.agent.meeting.code import derive_key, is_proven, parse_code, prove
from muster.agent.meeting.place import Papers
from muster.agent.meeting.wire import (
    HELLO,
    JOIN,
    LOOK,
    MOST_BYTES,
    Answer,
    Closed,
    Look,
    Question,
    authority_der,
    digest_of,
    read_line,
    render_line,
)
from muster.client.target import ignore_dates
from muster.errors import ExternalError
from muster.frozen import dataclass
from muster.links import IP
from muster.model.meeting import parse_meeting

_PATIENCE_S: Final = 10.0
_AGAIN: Final = "check the address, and that somebody chose that host as the rendezvous host"


class NotYet(ExternalError):
    """Nobody is there, or is not ready: that may change by itself."""


@dataclass(frozen=True)
class Door:
    """Where to ask."""

    ip: IP
    port: int


@dataclass(frozen=True)
class Bond:
    """A rendezvous host that has proven itself."""

    door: Door
    authority: str
    """PEM."""
    key: bytes

    @property
    def digest(self) -> str:
        return digest_of(authority_der(self.authority))


async def meet(door: Door, typed: str, announced: str = "") -> Bond:
    """Find out who is there; an ExternalError when it is nobody who has the code."""
    code = parse_code(typed)
    said = (await _ask(door, Question(HELLO), _blind())).hello
    if said is None or code is None:
        raise _strange(door)
    try:
        der = authority_der(said.authority)
    except ValueError:
        raise _strange(door) from None
    if announced and digest_of(der) != announced:
        raise ExternalError(
            f"another one answers at {door.ip} than the one that was announced there",
            hint="look who has that address; choose again when only one does",
        )
    key = await asyncio.to_thread(derive_key, code, der)
    if not is_proven(key, HELLO, said.proof):
        raise ExternalError(
            f"the host at {door.ip} does not have this code: it was mistyped, or that is a stranger",
            hint="compare it with the join code on the console of the rendezvous host",
        )
    return Bond(door, said.authority, key)


async def fetch_papers(bond: Bond) -> Papers:
    """What makes this host one of the others."""
    papers = (await _ask_known(bond, JOIN)).papers
    if papers is None or parse_meeting(papers.environment) is None:
        raise _strange(bond.door)
    return papers


async def look(bond: Bond) -> Look:
    """What the consoles of all hosts show."""
    return (await _ask_known(bond, LOOK)).look or Look()


async def _ask_known(bond: Bond, what: str) -> Answer:
    context = ignore_dates(ssl.create_default_context(cadata=bond.authority))
    question = Question(JOIN if what == JOIN else LOOK, prove(bond.key, what))
    said = await _ask(bond.door, question, context)
    if said.refused:
        kind = NotYet if said.later else ExternalError
        raise kind(f"the rendezvous host at {bond.door.ip} refuses: {said.refused}", hint=_AGAIN)
    return said


def _blind() -> ssl.SSLContext:
    """Nobody is known yet: what is said this way is believed only with a proof of its own."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def _ask(door: Door, question: Question, context: ssl.SSLContext) -> Answer:
    try:
        async with asyncio.timeout(_PATIENCE_S):
            reader, writer = await asyncio.open_connection(
                str(door.ip), door.port, ssl=context, server_hostname=str(door.ip), limit=MOST_BYTES
            )
            try:
                writer.write(render_line(question))
                await writer.drain()
                return await read_line(reader, Answer)
            finally:
                writer.close()
                with contextlib.suppress(OSError):
                    await writer.wait_closed()
    except ssl.SSLCertVerificationError:  # It is a ValueError, too.
        raise ExternalError(
            f"the host at {door.ip} shows a certificate of somebody else", hint="look who has that address"
        ) from None
    except Closed:
        raise NotYet(
            f"the host at {door.ip} closed the connection without an answer: too many may ask it at once",
            hint="it is asked again; if that does not help, look who sends so much to that address",
        ) from None
    except ValueError:
        raise _strange(door) from None
    except (OSError, TimeoutError) as error:
        why = "no answer in time" if isinstance(error, TimeoutError) else _reason(error)
        raise NotYet(f"no rendezvous host answers at {door.ip}: {why}", hint=_AGAIN) from None


def _reason(error: OSError) -> str:
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno).lower()
    return (error.strerror or str(error)).lower()


def _strange(door: Door) -> ExternalError:
    return ExternalError(f"what answers at {door.ip} is no rendezvous host", hint=_AGAIN)
