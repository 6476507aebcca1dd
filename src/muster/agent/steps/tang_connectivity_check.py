# SPDX-License-Identifier: Apache-2.0
"""Whether the servers that unlock disks answer. One that does not says nothing of the others."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

import msgspec

from muster.agent.steps.outcome import BadArguments, Outcome, read, reply
from muster.agent.steps.web import NotFetched, Request, fetch, tell
from muster.machine import Machine
from muster.model.wire.reports import TangConnectivityResponse, TangServerResponse, TangSignature
from muster.model.wire.steps import TangConnectivityRequest

_DEADLINE_S: Final = 20.0


class TangServer(msgspec.Struct, frozen=True):
    """A server, and which of its keys is meant."""

    url: str
    thumbprint: str = ""


class _Advertisement(msgspec.Struct, frozen=True):
    payload: str
    signatures: tuple[TangSignature, ...] = ()
    protected: str | None = None
    signature: str | None = None


def parse_servers(text: str) -> tuple[TangServer, ...]:
    """Servers from the JSON that is in a string."""
    try:
        return msgspec.json.decode(text, type=tuple[TangServer, ...])
    except msgspec.DecodeError as error:
        raise BadArguments(f"the Tang servers cannot be read: {error}") from error


def parse_advertisement(url: str, body: bytes) -> TangServerResponse:
    """What a server advertises; with one key it may sign without a list."""
    try:
        found = msgspec.json.decode(body, type=_Advertisement)
    except msgspec.DecodeError:
        raise NotFetched(f"what came is no advertisement: {tell(body)}") from None
    signatures = found.signatures
    if not signatures and found.signature:
        signatures = (TangSignature(protected=found.protected, signature=found.signature),)
    return TangServerResponse(tang_url=url, payload=found.payload, signatures=signatures)


async def run(machine: Machine, args: Sequence[str]) -> Outcome:  # noqa: ARG001
    """The step."""
    servers = parse_servers(read(args, TangConnectivityRequest).tang_servers)
    found = await asyncio.gather(*(_ask(server) for server in servers))
    answers = tuple(each for each in found if isinstance(each, TangServerResponse))
    troubles = [each for each in found if isinstance(each, str)]
    body = TangConnectivityResponse(is_success=bool(servers) and not troubles, tang_server_response=answers)
    return Outcome(reply(body).output, error="\n".join(troubles))


async def _ask(server: TangServer) -> TangServerResponse | str:
    """What a server advertises, or why it is not known."""
    url = f"{server.url.rstrip('/')}/adv/{server.thumbprint}"
    try:
        return parse_advertisement(server.url, await fetch(Request(url, {}), deadline_s=_DEADLINE_S))
    except NotFetched as error:
        return f"{server.url}: {error}"
