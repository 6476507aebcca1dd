# SPDX-License-Identifier: Apache-2.0
"""Virtual addresses from a DHCP server: each is asked for by a card that exists only for that."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from ipaddress import IPv4Address
from typing import Final

from muster.agent.steps.arp import parse_mac
from muster.agent.steps.dhcp import (
    ACK,
    NAK,
    OFFER,
    Answer,
    Client,
    parse_answer,
    parse_leased,
    render_discover,
    render_lease,
    render_request,
)
from muster.agent.steps.outcome import BadArguments, Outcome, read, reply
from muster.agent.steps.wire import IPV4, RAW, Link, Wire
from muster.frozen import dataclass
from muster.machine import Machine
from muster.model.wire.reports import DhcpAllocationResponse
from muster.model.wire.steps import DhcpAllocationRequest

_TRIES: Final = 5
_ANSWER_S: Final = 4.0
_ROUND_S: Final = 45.0
_IP_S: Final = 5.0


class NoLease(Exception):
    """No address could be had; the text says why."""


@dataclass(frozen=True)
class Means:
    """What a lease is got with."""

    wire: Wire = RAW
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    choose: Callable[[], int] = lambda: secrets.randbits(32)
    answer_s: float = _ANSWER_S


@dataclass(frozen=True)
class Wish:
    """An address that is wanted."""

    name: str
    mac: str
    before: IPv4Address | None

    @property
    def card(self) -> str:
        """A name that no interface of the user has."""
        return f"muster-{self.name}"


async def run(machine: Machine, args: Sequence[str], *, means: Means | None = None) -> Outcome:
    """The step."""
    request = read(args, DhcpAllocationRequest)
    wishes = (
        Wish("api", request.api_vip_mac, parse_leased(request.api_vip_lease)),
        Wish("ingress", request.ingress_vip_mac, parse_leased(request.ingress_vip_lease)),
    )
    for wish in wishes:
        try:
            parse_mac(wish.mac)
        except ValueError as error:
            raise BadArguments(f"{wish.name}_vip_mac: {error}") from error
    means = means or Means()
    asked = (_allocate(machine, request.interface, wish, means) for wish in wishes)
    api, ingress = await asyncio.gather(*asked, return_exceptions=True)
    troubles = [
        f"{wish.name}: {each}"
        for wish, each in zip(wishes, (api, ingress), strict=True)
        if isinstance(each, NoLease)
    ]
    for each in (api, ingress):
        if isinstance(each, BaseException) and not isinstance(each, NoLease):
            raise each
    if isinstance(api, BaseException) or isinstance(ingress, BaseException):
        return Outcome(exit_code=1, error="\n".join(troubles))
    return reply(
        DhcpAllocationResponse(
            api_vip_address=api[0],
            ingress_vip_address=ingress[0],
            api_vip_lease=api[1],
            ingress_vip_lease=ingress[1],
        )
    )


async def _allocate(machine: Machine, nic: str, wish: Wish, means: Means) -> tuple[str, str]:
    """An address and its lease."""
    client = Client(wish.mac, f"{wish.mac.replace(':', '-').lower()}-{wish.name}", means.choose())
    try:
        async with asyncio.timeout(_ROUND_S), _card(machine, nic, wish):
            with means.wire.open(wish.card, IPV4) as link:
                answer = await _lease(link, client, wish.before, means.answer_s)
    except TimeoutError:
        raise NoLease(f"no address within {_ROUND_S:g} s") from None
    except OSError as error:
        raise NoLease(f"cannot send: {error.strerror or error}") from error
    return str(answer.address), render_lease(wish.name, answer, means.now())


@asynccontextmanager
async def _card(machine: Machine, nic: str, wish: Wish) -> AsyncIterator[None]:
    """A second card on an interface's wire, with a MAC of its own; one that was left over is removed."""
    await machine.ask(["ip", "link", "delete", wish.card], deadline_s=_IP_S)
    kind = ("address", wish.mac, "type", "macvlan", "mode", "private")
    try:
        made = await machine.ask(["ip", "link", "add", wish.card, "link", nic, *kind], deadline_s=_IP_S)
        if not made.is_ok:
            raise NoLease(f"cannot make a card on {nic}: {made.trouble}")
        up = ["ip", "link", "set", wish.card, "addrgenmode", "none", "up"]
        if not (said := await machine.ask(up, deadline_s=_IP_S)).is_ok:
            raise NoLease(f"cannot use a card on {nic}: {said.trouble}")
        yield
    finally:
        remove = machine.ask(["ip", "link", "delete", wish.card], deadline_s=_IP_S)
        await asyncio.shield(remove)


async def _lease(link: Link, client: Client, before: IPv4Address | None, answer_s: float) -> Answer:
    wish = before
    for _ in range(_TRIES):
        await link.send(render_discover(client, wish))
        offer = await _hear(link, client, (OFFER,), answer_s)
        if offer is None:
            continue
        await link.send(render_request(client, offer))
        answer = await _hear(link, client, (ACK, NAK), answer_s)
        if answer is not None and answer.kind == ACK:
            return answer
        wish = None  # The server does not give that one.
    raise NoLease(f"no DHCP server gave an address to {client.mac}")


async def _hear(link: Link, client: Client, kinds: Sequence[int], answer_s: float) -> Answer | None:
    """The first answer of these kinds to this client; None if there is none in time."""
    try:
        async with asyncio.timeout(answer_s):
            while True:
                answer = parse_answer(await link.receive())
                if answer is None or (answer.xid, answer.mac) != (client.xid, client.mac.lower()):
                    continue
                if answer.kind in kinds:
                    return answer
    except TimeoutError:
        return None
