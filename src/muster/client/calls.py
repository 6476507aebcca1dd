# SPDX-License-Identifier: Apache-2.0
"""Calls of the service: one function for all of them, which tells refusals and silence apart.

async with open_calls(target) as calls:
    cluster = await calls.read("GET", f"/clusters/{id}", Cluster)
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final, TypeVar

import aiohttp
import msgspec

from muster.client.target import Target, make_context
from muster.client.timekeeping import Timekeeper
from muster.client.words import words_of
from muster.errors import ExternalError
from muster.frozen import dataclass
from muster.model.host_key import CHALLENGE_HEADER

T = TypeVar("T")
PATIENCE_S: Final = 60.0
_ENCODER: Final = msgspec.json.Encoder()
_JSON: Final = {"Content-Type": "application/json"}
_DATES: Final = {9: "not valid yet", 10: "not valid any more"}
"""What OpenSSL says of a certificate that is fine but for its dates."""


class Refused(ExternalError):
    """The service answered, but not as was hoped."""

    def __init__(self, code: int, reason: str, retry_s: float = 0.0, challenge: str = "") -> None:
        super().__init__(f"the service refuses: {reason}", hint="see what it says")
        self.code, self.reason, self.retry_s = code, reason, retry_s
        self.challenge = challenge
        """What a host has to sign with its key before it is believed."""


class Unreachable(ExternalError):
    """Nobody answered, or what answered is not the service."""

    def __init__(self, url: str, why: str) -> None:
        super().__init__(f"no service at {url}: {why}", hint="check that host and the network to it")
        self.why = why


@dataclass(frozen=True)
class Answer:
    """What the service answered."""

    body: bytes
    headers: Mapping[str, str]


class Calls:
    """A way to one service for one caller, whose token may change on the way."""

    def __init__(
        self, session: aiohttp.ClientSession, target: Target, timekeeper: Timekeeper | None = None
    ) -> None:
        """``timekeeper``: has the clock go with that of the service; without one nobody touches it."""
        self.target, self.token = target, target.token
        self._session, self._timekeeper = session, timekeeper

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        patience_s: float = PATIENCE_S,
    ) -> Answer:
        """Call an operation by its path; `Refused` or `Unreachable` when there is no answer to it."""
        try:
            return await self._call(method, path, body, headers or {}, patience_s)
        except Unreachable as error:
            # Its dates are judged by our clock, which may be what is wrong.
            is_certificate = isinstance(error.__cause__, aiohttp.ClientConnectorCertificateError)
            if not is_certificate or not await self._agree() or isinstance(body, aiohttp.FormData):
                raise
        return await self._call(method, path, body, headers or {}, patience_s)

    async def _agree(self) -> bool:
        return self._timekeeper is not None and await self._timekeeper.agree(self.target)

    async def _call(
        self, method: str, path: str, body: Any, headers: Mapping[str, str], patience_s: float
    ) -> Answer:
        data = body if body is None or isinstance(body, bytes | aiohttp.FormData) else _ENCODER.encode(body)
        sent = {str(self.target.caller): self.token} if self.token else {}
        if isinstance(data, bytes):
            sent |= _JSON
        timeout = aiohttp.ClientTimeout(total=patience_s, sock_connect=10.0)
        try:
            async with self._session.request(
                method, self.target.base + path, data=data, headers={**sent, **headers}, timeout=timeout
            ) as response:
                if self._timekeeper is not None:
                    await self._timekeeper.hear(self.target, response.headers.get("Date", ""))
                found = await response.read()
                if response.status >= 400:
                    challenge = response.headers.get(CHALLENGE_HEADER, "")
                    reason = _reason(found, response.status)
                    raise Refused(response.status, reason, _retry_after(response), challenge)
                return Answer(found, response.headers)
        except TimeoutError as error:
            raise Unreachable(self.target.url, f"no answer within {patience_s:g} s") from error
        except (aiohttp.ClientError, OSError) as error:
            raise Unreachable(self.target.url, _why(error)) from error

    async def read(self, method: str, path: str, kind: type[T], body: Any = None, **more: Any) -> T:
        """Call an operation, and take its answer for what it has to be."""
        answer = await self.call(method, path, body, **more)
        try:
            return msgspec.json.decode(answer.body, type=kind)
        except msgspec.DecodeError as error:
            raise Unreachable(self.target.url, f"the answer cannot be read: {error}") from error


@contextlib.asynccontextmanager
async def open_calls(target: Target, timekeeper: Timekeeper | None = None) -> AsyncIterator[Calls]:
    """A way to a service, until the body ends."""
    connector = aiohttp.TCPConnector(ssl=make_context(target.authority))
    # What the environment says of proxies is about the world outside; the service is in the same room.
    async with aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar()) as session:
        yield Calls(session, target, timekeeper)


def _reason(body: bytes, status: int) -> str:
    """Why it was refused, as the service says it; other servers say what they like."""
    try:
        found = msgspec.json.decode(body)
        text = found.get("reason") or found.get("message") if isinstance(found, dict) else None
    except msgspec.DecodeError:
        text = None
    return str(text) if text else f"status {status}"


def _why(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        code = getattr(error.certificate_error, "verify_code", 0)
        if code in _DATES:
            return f"its certificate is {_DATES[code]}, by the clock of this machine"
        return "its certificate is not of the expected authority"
    if isinstance(error, aiohttp.ClientConnectorSSLError):
        return "its certificate is not of the expected authority"
    if isinstance(error, aiohttp.ClientConnectorError):
        return words_of(error)
    return str(error) or type(error).__name__


def _retry_after(response: aiohttp.ClientResponse) -> float:
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isdecimal() else 0.0
