# SPDX-License-Identifier: Apache-2.0
"""Limits on requests: how large, how deep, how many, how slow. What exceeds them never reaches a handler."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Final, TypeAlias

from muster.frozen import dataclass
from muster.service.edge.answers import (
    App,
    Message,
    Receive,
    Scope,
    Send,
    error_headers,
    send_error,
)
from muster.service.edge.body import Counted, Gone, TooLarge, hand_on, read_body
from muster.service.edge.rate import Buckets, Rate
from muster.service.edge.scan import has_text_over, is_deeper_than

KIB: Final = 1 << 10
MIB: Final = 1 << 20
Refusal: TypeAlias = tuple[int, str]
_HOST: Final = r"/v2/infra-envs?/[^/]+/hosts"


@dataclass(frozen=True)
class Limit:
    """What a request may be like."""

    path: re.Pattern[str]
    body_bytes: int
    text_bytes: int
    """The longest text in a JSON body."""
    rate: str = "people"
    is_deep: bool = False
    """Whether nobody looks how deep the body is nested, because what decodes it stops by itself."""
    is_streamed: bool = False
    """Whether the body is passed on as it comes, because it is a file."""


LIMITS: Final = (
    Limit(re.compile(_HOST + "/[^/]+/instructions$"), 8 * MIB, 8 * MIB, "hosts", is_deep=True),
    Limit(
        re.compile(_HOST + "(?:/[^/]+/(?:.*progress|log-lines|downloads/.*))?$"), 256 * KIB, 64 * KIB, "hosts"
    ),
    Limit(re.compile("/v2/clusters/[^/]+/logs$"), 1 << 30, 0, "hosts", is_streamed=True),
    Limit(re.compile("/v2/clusters/[^/]+/(?:downloads/|.*progress$|monitored-)"), MIB, MIB, "hosts"),
    Limit(re.compile("/v2/clusters/[^/]+/manifests$"), 8 * MIB, 8 * MIB),
    Limit(re.compile("/v2/login$"), 8 * KIB, 4 * KIB),
    Limit(re.compile("^/(?:health|ready)$"), KIB, KIB, "probes"),
    Limit(re.compile(""), 4 * MIB, 2 * MIB),
)
"""The first whose path fits counts. Hosts report what they found as one text; many may share an address."""

RATES: Final = {
    "people": Rate(burst=400, per_second=100),
    "hosts": Rate(burst=20_000, per_second=5_000),
    "probes": Rate(burst=100, per_second=20),
}
"""Whatever else an address asks for, a service that runs does not look dead to a probe from there."""


@dataclass(frozen=True)
class Settings:
    """All limits of a service."""

    limits: tuple[Limit, ...] = LIMITS
    rates: Mapping[str, Rate] = field(default_factory=lambda: RATES)
    depth: int = 64
    header_bytes: int = 32 * KIB
    address_bytes: int = 8 * KIB
    """Path and query."""
    body_s: float = 60.0
    """How long a body may take that is read as a whole."""
    answer_s: float = 120.0
    """How long until an answer begins; what follows, such as an image or a stream, may take any time."""


class Limits:
    """ASGI middleware."""

    def __init__(self, app: App, settings: Settings, clock: Callable[[], float]) -> None:
        self._app = app
        self._settings = settings
        self._clock = clock
        self._buckets = {name: Buckets(rate) for name, rate in settings.rates.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._find(scope["path"])
        client = scope.get("client")
        if wait := self._buckets[limit.rate].take(client[0] if client else "", self._clock()):
            more = error_headers(429, wait)
            await send_error(send, 429, "too many requests from this address", more=more)
        elif isinstance(head := self._check_head(scope, limit), tuple):
            await send_error(send, *head)
        elif limit.is_streamed or not head:
            await _Answer(self._app, self._settings.answer_s, limit).give(scope, receive, send)
        else:
            await self._read_and_answer(limit, scope, receive, send)

    def _find(self, path: str) -> Limit:
        return next(limit for limit in self._settings.limits if limit.path.search(path))

    def _check_head(self, scope: Scope, limit: Limit) -> Refusal | bool:
        """Why a request is refused before its body is read; else whether it has one."""
        settings = self._settings
        if len(scope["path"]) + len(scope["query_string"]) > settings.address_bytes:
            return 414, f"the address is longer than {settings.address_bytes} bytes"
        size, length, is_chunked = 0, b"0", False
        for name, value in scope["headers"]:
            size += len(name) + len(value)
            if name == b"content-length":
                length = value
            elif name == b"transfer-encoding":
                is_chunked = True
        if size > settings.header_bytes:
            return 431, f"the headers take more than {settings.header_bytes} bytes"
        if length.isdigit() and int(length[:20]) > limit.body_bytes:
            return _too_large(limit)
        return is_chunked or length != b"0"

    async def _read_and_answer(self, limit: Limit, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with asyncio.timeout(self._settings.body_s):
                body = await read_body(receive, limit.body_bytes)
        except TimeoutError:
            more = [*error_headers(408), (b"connection", b"close")]
            reason = f"the body was not there after {self._settings.body_s:g} s"
            await send_error(send, 408, reason, more=more)
        except TooLarge:
            await send_error(send, *_too_large(limit))
        except Gone:
            return
        else:
            if refusal := check_json(body, limit, self._settings.depth):
                await send_error(send, *refusal)
            else:
                answer = _Answer(self._app, self._settings.answer_s, limit)
                await answer.give(scope, hand_on(body, receive), send)


def check_json(body: bytes, limit: Limit, depth: int) -> Refusal | None:
    """Why a body is not even decoded."""
    if has_text_over(body, limit.text_bytes):
        return 413, f"a text in the body is longer than {limit.text_bytes} bytes"
    if not limit.is_deep and is_deeper_than(body, depth):
        return 400, f"the body is nested more than {depth} levels deep, or is cut off"
    return None


def _too_large(limit: Limit) -> Refusal:
    return 413, f"the body is larger than {limit.body_bytes} bytes"


class _Answer:
    """One request that was let in; it has some time until its answer begins."""

    def __init__(self, app: App, answer_s: float, limit: Limit) -> None:
        self._app = app
        self._answer_s = answer_s
        self._limit = limit
        self._counted: Counted | None = None
        self._has_begun = False

    async def give(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._limit.is_streamed:
            receive = self._counted = Counted(receive, self._limit.body_bytes, self._give_time)
        try:
            async with asyncio.timeout(self._answer_s) as self._timer:
                await self._app(scope, receive, lambda message: self._send(message, send))
        except TimeoutError:
            if not self._timer.expired() or self._has_begun:
                raise
            await send_error(send, 504, f"there was no answer after {self._answer_s:g} s")
        except Exception:
            if not self._is_exceeded:
                raise
        if self._is_exceeded and not self._has_begun:
            await send_error(send, *_too_large(self._limit))

    @property
    def _is_exceeded(self) -> bool:
        return self._counted is not None and self._counted.is_exceeded

    def _give_time(self) -> None:
        """A body that keeps coming may take as long as it likes."""
        if not self._has_begun:
            self._timer.reschedule(asyncio.get_running_loop().time() + self._answer_s)

    async def _send(self, message: Message, send: Send) -> None:
        if self._is_exceeded and not self._has_begun:
            return
        if message["type"] == "http.response.start":
            self._has_begun = True
            self._timer.reschedule(None)
        await send(message)
