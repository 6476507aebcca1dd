# SPDX-License-Identifier: Apache-2.0
"""What hosts say to each other while one joins another: one line of JSON each way, over TLS."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Final, Literal, TypeVar

import msgspec
from cryptography.hazmat.primitives.serialization import Encoding

from muster.agent.meeting.place import Papers
from muster.certificates.parse import parse_certificate
from muster.model.service_card import ServiceCard

MOST_BYTES: Final = 32_768
"""No line is longer."""
HELLO: Final = "hello"
JOIN: Final = "join"
LOOK: Final = "look"
T = TypeVar("T")


class Question(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a host wants: who is there, to join, or how it is."""

    ask: Literal["hello", "join", "look"]
    proof: str = ""


class Hello(msgspec.Struct, frozen=True):
    """Who is there; for those who know the code, that it is no stranger."""

    authority: str
    """PEM."""
    proof: str
    name: str = ""


class Look(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the consoles of all hosts show. The login code is for the rendezvous host's console alone."""

    card: ServiceCard | None = None


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """One of these, or why there is none."""

    refused: str = ""
    later: bool = False
    """Whether it is worth to ask again."""
    hello: Hello | None = None
    papers: Papers | None = None
    look: Look | None = None


class Closed(ValueError):
    """The other side ended the connection before all of a line was there."""


async def read_line(reader: asyncio.StreamReader, kind: type[T]) -> T:
    """A line of somebody who may be anybody; a ValueError when it is not what it should be."""
    try:
        return msgspec.json.decode(await reader.readuntil(b"\n"), type=kind)
    except asyncio.IncompleteReadError as error:
        raise Closed("no whole line came") from error
    except asyncio.LimitOverrunError as error:
        raise ValueError("the line is too long") from error
    except RecursionError as error:
        raise ValueError("it makes no sense") from error


def render_line(value: Question | Answer) -> bytes:
    """As it is sent."""
    return msgspec.json.encode(value) + b"\n"


def authority_der(pem: str) -> bytes:
    """The certificate of an authority; a ValueError when it is none."""
    return parse_certificate(pem.encode("ascii", "replace")).public_bytes(Encoding.DER)


def digest_of(der: bytes) -> str:
    """What an authority is announced by."""
    return hashlib.sha256(der).hexdigest()
