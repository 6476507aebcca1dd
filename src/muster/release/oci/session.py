# SPDX-License-Identifier: Apache-2.0
"""Speaking with registries: one request with the right scheme and login, and no more than one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import field, replace
from typing import Final

from muster.frozen import dataclass
from muster.release.oci.auth import Access, Gate
from muster.release.oci.logins import Logins
from muster.release.oci.transport import Body, Call, Reply, Transport, is_same_server
from muster.release.oci.trouble import Unreachable, refuse_status

ERROR_BYTES: Final = 16 << 10
"""As much of an error as is read."""


@dataclass(frozen=True)
class Ask:
    """A request to a registry."""

    method: str
    target: str
    """Below ``/v2/``, or a whole URL that the registry named."""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Body | None = field(default=None, repr=False)


class Session:
    """Registries, as one client sees them: where they answer, and what they want to see."""

    def __init__(self, transport: Transport, logins: Logins, now: Callable[[], float]) -> None:
        self._transport = transport
        self._gate = Gate(transport, logins, now)
        self._schemes: dict[str, str] = {}
        self._finding: dict[str, asyncio.Lock] = {}

    @asynccontextmanager
    async def ask(self, access: Access, ask: Ask) -> AsyncIterator[Reply]:
        """Ask a registry; every answer is given but that we are not let in, which is raised."""
        address = await self.address(access)
        url = ask.target if "://" in ask.target else address + ask.target
        call = Call(ask.method, url, ask.headers, ask.body, access.insecure)
        if not is_same_server(url, address):
            async with self._transport.request(call) as reply:
                yield reply
            return
        sent = await self._gate.header(access)
        async with self._transport.request(_with_login(call, sent)) as reply:
            if reply.status != 401 or not is_same_server(reply.url, address):
                yield reply
                return
            challenges = reply.challenges
        header = await self._gate.answer(access, challenges, sent)
        async with self._transport.request(_with_login(call, header)) as reply:
            if reply.status == 401 and is_same_server(reply.url, address):
                raise self._gate.refusal(access)
            yield reply

    async def address(self, access: Access) -> str:
        """The URL where a registry's API begins."""
        return f"{await self._scheme(access)}://{access.registry}/v2/"

    async def _scheme(self, access: Access) -> str:
        """HTTPS; where nobody has to prove anything, HTTP if only that answers."""
        if not access.insecure:
            return "https"
        async with self._finding.setdefault(access.registry, asyncio.Lock()):
            if access.registry not in self._schemes:
                self._schemes[access.registry] = await self._find_scheme(access.registry)
        return self._schemes[access.registry]

    async def _find_scheme(self, registry: str) -> str:
        try:
            await self._knock(f"https://{registry}/v2/")
        except Unreachable as secure:
            try:
                await self._knock(f"http://{registry}/v2/")
            except Unreachable as plain:
                same = plain.message == secure.message
                raise Unreachable(
                    secure.message if same else f"{secure.message}; nor without TLS: {plain.message}",
                    hint=plain.hint,
                    passing=secure.passing or plain.passing,
                ) from plain
            return "http"
        return "https"

    async def _knock(self, url: str) -> None:
        async with self._transport.request(Call("GET", url, insecure=True)) as reply:
            await reply.read_some(ERROR_BYTES)


def _with_login(call: Call, header: str) -> Call:
    return replace(call, headers={**call.headers, "Authorization": header}) if header else call


async def refused(reply: Reply, what: str) -> Unreachable:
    """Why an answer is not what was asked for, in the registry's own words, too."""
    body = b"" if reply.status in (200, 206) else await reply.read_some(ERROR_BYTES)
    return refuse_status(reply.status, what, reply.headers, body)
