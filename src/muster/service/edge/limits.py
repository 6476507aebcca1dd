# SPDX-License-Identifier: Apache-2.0
"""Limits on requests: how large, how deep, how many, how slow. What exceeds them never reaches a handler.

The head of a request is checked first. Its body is read when the handler asks for it, which it does once it
has let the caller in; the bytes of all bodies in memory are bounded, in total and for each network.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Final, TypeAlias

from muster.frozen import dataclass
from muster.service.edge.answers import (
    App,
    Headers,
    Message,
    Receive,
    Scope,
    Send,
    error_headers,
    send_error,
)
from muster.service.edge.body import Counted, Gone, Refused, TooLarge, WholeBody, read_body
from muster.service.edge.budget import Budget, NoRoom
from muster.service.edge.connections import CALLER_KEY, Caller, Room, cached_network_of
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
    max_items: int = 100_000
    """The most lists, objects and members of a JSON body: each costs many times its bytes in memory."""


LIMITS: Final = (
    Limit(re.compile("^/(?:byid|bytoken|byapikey|images|boot-artifacts)/"), 0, 0),
    Limit(
        re.compile(_HOST + "/[^/]+/instructions$"), 8 * MIB, 8 * MIB, "hosts", is_deep=True, max_items=200_000
    ),
    Limit(
        re.compile(_HOST + "(?:/[^/]+/(?:.*progress|log-lines|downloads/.*))?$"), 256 * KIB, 64 * KIB, "hosts"
    ),
    Limit(re.compile("/v2/clusters/[^/]+/logs$"), 1 << 30, 0, "hosts", is_streamed=True),
    Limit(re.compile("/v2/clusters/[^/]+/(?:downloads/|.*progress$|monitored-)"), MIB, MIB, "hosts"),
    Limit(re.compile("/v2/clusters/[^/]+/manifests$"), 8 * MIB, 8 * MIB),
    Limit(re.compile("/v2/events$"), 64 * KIB, 32 * KIB),
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


BODIES: Final[Mapping[Caller, Room]] = {
    "strangers": Room(each=256 * KIB, all=4 * MIB),
    "hosts": Room(each=32 * MIB, all=64 * MIB),
    "people": Room(each=16 * MIB, all=48 * MIB),
}
"""Bytes of bodies in memory, by who sends them. Strangers can only log in, with at most 8 KiB."""
UPLOADS: Final = Room(each=4, all=8)
"""Files that are being uploaded at the same time."""
_FIRST_BYTES: Final = 256 * KIB
"""What a body gets that does not say how large it is; if that is not enough, all that is allowed."""
_BUSY: Final = (503, "too much is being sent at the same time; try again later", 5)
_CLOSE: Final = (b"connection", b"close")


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
    """How long a body may take that is read as a whole, with the wait for room."""
    stranger_body_s: float = 10.0
    """The same for a caller without a token."""
    answer_s: float = 120.0
    """How long until an answer begins; what follows, such as an image or a stream, may take any time."""
    bodies: Mapping[Caller, Room] = field(default_factory=lambda: BODIES)
    uploads: Room = UPLOADS


class Limits:
    """ASGI middleware."""

    def __init__(self, app: App, settings: Settings, clock: Callable[[], float]) -> None:
        self.app = app
        self.settings = settings
        self._clock = clock
        self._buckets = {name: Buckets(rate) for name, rate in settings.rates.items()}
        self.bodies = {caller: Budget(room) for caller, room in settings.bodies.items()}
        self.uploads = Budget(settings.uploads)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = self._find(scope["path"])
        client = scope.get("client")
        network = cached_network_of(client[0]) if client else ""
        size = _size_of(scope)
        close = () if size == 0 else (_CLOSE,)
        if wait := self._buckets[limit.rate].take(network, self._clock()):
            more = [*error_headers(429, wait), *close]
            await send_error(send, 429, "too many requests from this address", more=more)
        elif refusal := self._check_head(scope, limit, size):
            await send_error(send, *refusal, more=[*error_headers(refusal[0]), *close])
        else:
            await _Exchange(self, limit, network, size).give(scope, receive, send)

    def _find(self, path: str) -> Limit:
        return next(limit for limit in self.settings.limits if limit.path.search(path))

    def _check_head(self, scope: Scope, limit: Limit, size: int | None) -> Refusal | None:
        """Why a request is refused by its head."""
        settings = self.settings
        if len(scope["path"]) + len(scope["query_string"]) > settings.address_bytes:
            return 414, f"the address is longer than {settings.address_bytes} bytes"
        if sum(len(name) + len(value) for name, value in scope["headers"]) > settings.header_bytes:
            return 431, f"the headers take more than {settings.header_bytes} bytes"
        if (size or 0) > limit.body_bytes or (size is None and not limit.body_bytes):
            return _too_large(limit)
        return None


def _size_of(scope: Scope) -> int | None:
    """How large the body is; None when the request does not say it."""
    size = 0
    for name, value in scope["headers"]:
        if name == b"transfer-encoding":
            return None
        if name == b"content-length" and value.isdigit():
            size = int(value[:20])
    return size


def check_json(body: bytes, limit: Limit, depth: int) -> Refusal | None:
    """Why a body is not even decoded."""
    items = body.count(b",") + body.count(b"{") + body.count(b"[")
    if items > limit.max_items or body.count(b'"') > 4 * limit.max_items:
        return 413, f"the body has more than {limit.max_items} items"
    if has_text_over(body, limit.text_bytes):
        return 413, f"a text in the body is longer than {limit.text_bytes} bytes"
    if not limit.is_deep and is_deeper_than(body, depth):
        return 400, f"the body is nested more than {depth} levels deep, or is cut off"
    return None


def _too_large(limit: Limit) -> Refusal:
    return 413, f"the body is larger than {limit.body_bytes} bytes"


class _Exchange:
    """One request whose head is fine, until its answer is complete."""

    def __init__(self, limits: Limits, limit: Limit, network: str, size: int | None) -> None:
        self._app, self._settings, self._limit = limits.app, limits.settings, limit
        self._limits, self._network, self._size = limits, network, size
        self._body: Counted | WholeBody | None = None
        self._held: tuple[Budget, int] | None = None
        self._refused: tuple[int, str, float] | None = None
        """Why the body is not taken; whatever the application says then is not sent."""
        self._has_begun = False

    async def give(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the application answer; it has some time until the answer begins."""
        if self._limit.is_streamed and self._size != 0:
            receive = self._body = Counted(self._upload(receive), self._limit.body_bytes, self._moved)
        elif self._size != 0:
            source = receive
            receive = self._body = WholeBody(lambda: self._read(scope, source), source)
        try:
            await self._run(scope, receive, send)
            if self._refused is not None and not self._has_begun:
                status, reason, retry_s = self._refused
                more = [*error_headers(status, retry_s), *self._close()]
                await send_error(send, status, reason, more=more)
        finally:
            self._give_back()
            # It refers to this one, which would keep the body until garbage is collected.
            self._body = None

    async def _run(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with asyncio.timeout(self._settings.answer_s) as self._timer:
                await self._app(scope, receive, lambda message: self._send(message, send))
        except TimeoutError:
            if not self._timer.expired() or self._has_begun:
                raise
            self._refused = 504, f"there was no answer after {self._settings.answer_s:g} s", 0
        except Gone:
            pass
        except Exception:
            if self._refused is None:
                raise

    def _close(self) -> Headers:
        """What is left of a body that was not read is not read: the connection ends with the answer."""
        return () if self._body is None or self._body.is_read else (_CLOSE,)

    async def _read(self, scope: Scope, receive: Receive) -> bytes:
        caller: Caller = scope.get("state", {}).get(CALLER_KEY, "strangers")
        settings, limit = self._settings, self._limit
        seconds = min(settings.body_s, settings.stranger_body_s) if caller == "strangers" else settings.body_s
        try:
            async with asyncio.timeout(seconds):
                await self._hold(
                    self._limits.bodies[caller], _FIRST_BYTES if self._size is None else self._size
                )
                body = await read_body(receive, limit.body_bytes, self._grow if self._size is None else None)
        except TimeoutError:
            if self._held is None:
                raise self._refuse(*_BUSY) from None
            raise self._refuse(408, f"the body was not there after {seconds:g} s") from None
        except TooLarge:
            raise self._refuse(*_too_large(limit)) from None
        if refusal := check_json(body, limit, settings.depth):
            raise self._refuse(*refusal)
        self._give_time()
        return body

    def _refuse(self, status: int, reason: str, retry_after_s: float = 0) -> Refused:
        self._refused = status, reason, retry_after_s
        return Refused(reason)

    def _upload(self, receive: Receive) -> Receive:
        """The body of an upload, once it may begin."""

        async def begin() -> Message:
            if self._held is None:
                try:
                    async with asyncio.timeout(self._settings.body_s):
                        await self._hold(self._limits.uploads, 1)
                except TimeoutError:
                    raise self._refuse(*_BUSY) from None
            return await receive()

        return begin

    async def _hold(self, budget: Budget, amount: int) -> None:
        try:
            self._held = budget, await budget.take(self._network, amount)
        except NoRoom:
            raise self._refuse(*_BUSY) from None

    async def _grow(self, size: int) -> None:
        """A body that did not say how large it is got larger than what it has room for."""
        if self._held is None or size <= self._held[1] or self._held[1] > _FIRST_BYTES:
            return
        budget = self._held[0]
        # Who waited for more while holding some could wait for others who do the same.
        self._give_back()
        await self._hold(budget, self._limit.body_bytes)

    def _give_back(self) -> None:
        if self._held is not None:
            budget, amount = self._held
            self._held = None
            budget.give_back(self._network, amount)

    def _moved(self, *, is_exceeded: bool) -> None:
        """More of a streamed body came."""
        self._give_time()
        if is_exceeded:
            self._refused = *_too_large(self._limit), 0

    def _give_time(self) -> None:
        """A body that keeps coming may take as long as it likes."""
        if not self._has_begun:
            self._timer.reschedule(asyncio.get_running_loop().time() + self._settings.answer_s)

    async def _send(self, message: Message, send: Send) -> None:
        if self._refused is not None and not self._has_begun:
            return
        if message["type"] == "http.response.start":
            self._has_begun = True
            self._timer.reschedule(None)
            if close := self._close():
                message["headers"] = [*message.get("headers", ()), *close]
        await send(message)
