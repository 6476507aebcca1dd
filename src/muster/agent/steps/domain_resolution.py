# SPDX-License-Identifier: Apache-2.0
"""What names lead to from here. A name that does not exist is another finding than servers that fail."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import ip_address
from typing import Final, TypeAlias

import msgspec

from muster.agent.steps.outcome import BadArguments, Outcome, read
from muster.frozen import dataclass
from muster.machine import Machine
from muster.model.wire.reports import DomainResolution, DomainResolutionResponse
from muster.model.wire.steps import DomainResolutionRequest

DEADLINE_S: Final = 25.0
"""For all names together; the system's own resolver gives up on a name after 10 to 20 s."""
_ABSENT: Final = frozenset({socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)})
Answer: TypeAlias = tuple[str, str]
"""A canonical name, or none, and an address."""
Resolve: TypeAlias = Callable[[str], Awaitable[Sequence[Answer]]]


@dataclass(frozen=True)
class Resolved:
    """What a name leads to, and why to nothing."""

    answers: tuple[Answer, ...] = ()
    trouble: str = ""


async def ask_system(name: str) -> Sequence[Answer]:
    """What the system's resolver says. `socket.gaierror` if that is nothing."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(name, None, type=socket.SOCK_STREAM, flags=socket.AI_CANONNAME)
    return [(canonical, str(where[0])) for _, _, _, canonical, where in found]


async def run(machine: Machine, args: Sequence[str], *, resolve: Resolve = ask_system) -> Outcome:  # noqa: ARG001
    """The step."""
    names = parse_names(read(args, DomainResolutionRequest))
    found = await asyncio.gather(*(_look_up(name, resolve) for name in names))
    rows = [make_resolution(name, each.answers) for name, each in zip(names, found, strict=True)]
    troubles = (f"{name}: {it.trouble}" for name, it in zip(names, found, strict=True) if it.trouble)
    body = DomainResolutionResponse(resolutions=tuple(rows))
    return Outcome(msgspec.json.encode(body).decode(), error="\n".join(troubles))


def parse_names(request: DomainResolutionRequest) -> tuple[str, ...]:
    """The names that are asked for, each once, in their order."""
    names = [each.get("domain_name") if isinstance(each, dict) else None for each in request.domains]
    if not all(isinstance(name, str) and name for name in names):
        raise BadArguments("a domain has no name")
    return tuple(dict.fromkeys(str(name) for name in names))


async def _look_up(name: str, resolve: Resolve) -> Resolved:
    try:
        async with asyncio.timeout(DEADLINE_S):
            return Resolved(tuple(await resolve(name)))
    except TimeoutError:
        return Resolved(trouble=f"no name server answered within {DEADLINE_S:g} s")
    except socket.gaierror as error:
        return Resolved(trouble=explain(error.errno or 0, error.strerror or ""))
    except UnicodeError:
        return Resolved(trouble="this cannot be a name")


def explain(code: int, text: str) -> str:
    """Why a name leads nowhere."""
    if code in _ABSENT:
        return "there is no such name"
    if code == socket.EAI_AGAIN:
        return "the name servers cannot be reached, or they failed"
    return text.lower() or f"the resolver failed with {code}"


def make_resolution(name: str, answers: Sequence[Answer]) -> DomainResolution:
    """The reply for a name."""
    addresses = sorted({address.partition("%")[0] for _, address in answers})
    canonical = {each.rstrip(".").lower() for each, _ in answers if each} - {name.rstrip(".").lower()}
    return DomainResolution(
        domain_name=name,
        ipv4_addresses=tuple(each for each in addresses if ip_address(each).version == 4),
        ipv6_addresses=tuple(each for each in addresses if ip_address(each).version == 6),
        cnames=tuple(sorted(canonical)),
    )
