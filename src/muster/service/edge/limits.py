# SPDX-License-Identifier: Apache-2.0
"""Limits on requests: how large, how deep, how many, how slow. What exceeds them never reaches a handler.

The head of a request is checked first. Its body is read when the handler asks for it, which it does once it
has let the caller in. A caller with a valid token has limits of its own: those of its host, its medium or its
session. Strangers have those of their address; all that they send is a login of a few KiB.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Final, TypeAlias

from muster.frozen import dataclass
from muster.service.auth.credentials import find_credentials
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
from muster.service.edge.body import (
    PACE_BYTES,
    PACE_S,
    Counted,
    Gone,
    Paced,
    Refused,
    TooLarge,
    TooSlow,
    WholeBody,
    read_body,
)
from muster.service.edge.budget import Budget, NoRoom
from muster.service.edge.connections import CONNECTION_KEY, Caller
from muster.service.edge.rate import AddressBuckets, Buckets, Rate
from muster.service.edge.scan import has_text_over, is_deeper_than
from muster.serving.connections import Connection, Room

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
    rate: str = ""
    """Which rate of `RATES` counts, where it is not that of the caller."""
    method: str = ""
    """Empty for every method."""
    is_deep: bool = False
    """Whether nobody looks how deep the body is nested, because what decodes it stops by itself."""
    is_streamed: bool = False
    """Whether the body is passed on as it comes, because it is a file."""
    max_items: int = 100_000
    """The most lists, objects and members of a JSON body: each costs many times its bytes in memory."""


LIMITS: Final = (
    Limit(re.compile("^/(?:byid|bytoken|byapikey|images|boot-artifacts)/"), 0, 0, "downloads"),
    Limit(re.compile(_HOST + "/[^/]+/instructions$"), 8 * MIB, 8 * MIB, is_deep=True, max_items=200_000),
    Limit(re.compile(_HOST + "(?:/[^/]+/(?:.*progress|log-lines|downloads/.*))?$"), 256 * KIB, 64 * KIB),
    Limit(re.compile("/v2/clusters/[^/]+/logs$"), 1 << 30, 0, is_streamed=True),
    Limit(re.compile("/v2/clusters/[^/]+/(?:downloads/|.*progress$|monitored-)"), MIB, MIB),
    Limit(re.compile("/v2/clusters/[^/]+/manifests$"), 8 * MIB, 8 * MIB),
    Limit(re.compile("/v2/events$"), 64 * KIB, 32 * KIB),
    Limit(re.compile("/v2/login$"), 8 * KIB, 4 * KIB, "logins", "POST"),
    Limit(re.compile("/v2/login$"), 8 * KIB, 4 * KIB),
    Limit(re.compile("^/(?:health|ready)$"), KIB, KIB, "probes"),
    Limit(re.compile(""), 4 * MIB, 2 * MIB),
)
"""The first whose path and method fit counts. Hosts report what they found as one text."""

RATES: Final = {
    "strangers": Rate(burst=400, per_second=100),
    "downloads": Rate(burst=4_000, per_second=1_000),
    "probes": Rate(burst=100, per_second=20),
    "logins": Rate(burst=100, per_second=200),
    "hosts": Rate(burst=1_000, per_second=50),
    "media": Rate(burst=20_000, per_second=5_000),
    "people": Rate(burst=400, per_second=100),
}
"""Requests: the first four of one address, the others of one host, one medium, one session.

Whatever else an address asks for, a service that runs does not look dead to a probe from there. A login is
never refused because of others at the same address; it is delayed for `LOGIN_S` at most.
"""
LOGIN_S: Final = 1.0


@dataclass(frozen=True)
class BodyRoom:
    """Bytes of bodies in memory: of each holder, and of all together."""

    small: Room
    """For the first 256 KiB of a body."""
    large: Room
    """For larger ones, once their first 256 KiB have arrived."""


BODIES: Final[Mapping[Caller, BodyRoom]] = {
    "hosts": BodyRoom(Room(each=512 * KIB, all=32 * MIB), Room(each=8 * MIB, all=32 * MIB)),
    "media": BodyRoom(Room(each=4 * MIB, all=8 * MIB), Room(each=8 * MIB, all=16 * MIB)),
    "people": BodyRoom(Room(each=2 * MIB, all=8 * MIB), Room(each=16 * MIB, all=40 * MIB)),
}
"""Strangers need none: each of their connections has one body at a time, of 8 KiB at most."""
_FIRST_BYTES: Final = 256 * KIB
PIECE: Final = 32 * KIB
"""An answer is sent in pieces of this size; the next one when the client has taken those before it."""
VISITOR_KEY: Final = "visitor"
"""An application identifies the sender of a request by `scope["state"][VISITOR_KEY].identify(…)`."""
_TOO_MANY: Final = "too many requests"
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
    """How long a body may take that is read as a whole; also how long it may wait for room before that."""
    stranger_body_s: float = 10.0
    """How long the body of a caller without a token may take."""
    stranger_body_bytes: int = 8 * KIB
    pace_s: float = PACE_S
    """How soon the next 64 KiB of a body have to come."""
    answer_s: float = 120.0
    """How long until an answer begins; what follows, such as an image or a stream, may take any time."""
    bodies: Mapping[Caller, BodyRoom] = field(default_factory=lambda: BODIES)


class Limits:
    """ASGI middleware."""

    def __init__(self, app: App, settings: Settings, clock: Callable[[], float]) -> None:
        self.app = app
        self.settings = settings
        self.clock = clock
        self.addresses = {name: AddressBuckets(rate) for name, rate in settings.rates.items()}
        self.holders = {name: Buckets(rate) for name, rate in settings.rates.items()}
        self.small = {caller: Budget(each.small) for caller, each in settings.bodies.items()}
        self.large = {caller: Budget(each.large) for caller, each in settings.bodies.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = self._find(scope)
        size = _size_of(scope)
        close = () if size == 0 else (_CLOSE,)
        exchange = _Exchange(self, limit, scope, size)
        refusal = self._check_head(scope, limit, size)
        if wait := await exchange.count(has_token=refusal is None and _has_token(scope)):
            await send_error(send, 429, _TOO_MANY, more=[*error_headers(429, wait), *close])
        elif refusal is not None:
            await send_error(send, *refusal, more=[*error_headers(refusal[0]), *close])
        else:
            await exchange.give(scope, receive, send)

    def _find(self, scope: Scope) -> Limit:
        path, method = scope["path"], scope.get("method", "")
        return next(
            limit
            for limit in self.settings.limits
            if limit.path.search(path) and limit.method in ("", method)
        )

    def _check_head(self, scope: Scope, limit: Limit, size: int | None) -> Refusal | None:
        """Why a request is refused by its head."""
        settings = self.settings
        if len(scope["path"]) + len(scope["query_string"]) > settings.address_bytes:
            return 414, f"the address is longer than {settings.address_bytes} bytes"
        if sum(len(name) + len(value) for name, value in scope["headers"]) > settings.header_bytes:
            return 431, f"the headers take more than {settings.header_bytes} bytes"
        if (size or 0) > limit.body_bytes or (size is None and not limit.body_bytes):
            return _too_large(limit.body_bytes)
        return None


def _has_token(scope: Scope) -> bool:
    """Whether a request seems to bring a token; a cheap look, which may be wrong."""
    query = scope["query_string"]
    return b"api_key" in query or b"image_token" in query or bool(find_credentials(scope["headers"], b""))


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


def _too_large(most: int) -> Refusal:
    return 413, f"the body is larger than {most} bytes"


def _too_slow(seconds: float) -> Refusal:
    return 408, f"the body comes slower than {PACE_BYTES >> 10} KiB in {seconds:g} s"


class _Exchange:
    """One request, until its answer is complete."""

    def __init__(self, limits: Limits, limit: Limit, scope: Scope, size: int | None) -> None:
        self._limits, self._settings, self._limit, self._size = limits, limits.settings, limit, size
        client = scope.get("client")
        self._address: str = client[0] if client else ""
        self._connection: Connection | None = scope.get("state", {}).get(CONNECTION_KEY)
        self._caller: Caller = "strangers"
        self._holder = ""
        self._is_counted = False
        """Whether it was counted against a rate."""
        self._body: Counted | WholeBody | None = None
        self._held: list[tuple[Budget, int]] = []
        self._is_large = False
        """Whether the body has room among the large ones."""
        self._refused: tuple[int, str, float] | None = None
        """Why the body is not taken; whatever the application says then is not sent."""
        self._has_begun = False

    async def count(self, *, has_token: bool) -> float:
        """Count the request, unless a token may identify its sender; the seconds to wait, or 0."""
        if self._limit.rate == "logins":
            self._is_counted = True
            logins = self._limits.addresses["logins"]
            if wait := logins.reserve(self._address, self._limits.clock(), LOGIN_S):
                await asyncio.sleep(wait)
            return 0.0
        return 0.0 if has_token and not self._limit.rate else self._count_stranger()

    def _count_stranger(self) -> float:
        self._is_counted = True
        buckets = self._limits.addresses[self._limit.rate or "strangers"]
        return buckets.take(self._address, self._limits.clock())

    def identify(self, caller: Caller, holder: str) -> float:
        """The token is valid: this is its holder. The seconds to wait if it sends too many requests, or 0."""
        self._caller, self._holder = caller, holder
        if self._connection is not None:
            self._connection.belongs_to(caller, holder)
        if self._is_counted:
            return 0.0
        self._is_counted = True
        return self._limits.holders[caller].take(holder, self._limits.clock())

    async def give(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the application answer; it has some time until the answer begins."""
        scope.setdefault("state", {})[VISITOR_KEY] = self
        if self._limit.is_streamed and self._size != 0:
            paced = Paced(receive, self._settings.pace_s)
            receive = self._body = Counted(paced, self._limit.body_bytes, self._moved)
        elif self._size != 0:
            source = receive
            receive = self._body = WholeBody(lambda: self._read(source), source)
        try:
            await self._run(scope, receive, send)
            if self._refused is not None and not self._has_begun:
                status, reason, retry_s = self._refused
                more = [*error_headers(status, retry_s), *self._close()]
                await send_error(send, status, reason, more=more)
        finally:
            self._give_back()
            # They refer to this one, which would keep the body until garbage is collected.
            self._body = None
            scope["state"].pop(VISITOR_KEY, None)

    async def _run(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with asyncio.timeout(self._settings.answer_s) as self._timer:
                await self._limits.app(scope, receive, lambda message: self._send(message, send))
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

    async def _read(self, receive: Receive) -> bytes:
        settings, most, seconds = self._settings, self._limit.body_bytes, self._settings.body_s
        is_stranger = self._caller == "strangers"
        if is_stranger:
            most, seconds = min(most, settings.stranger_body_bytes), min(seconds, settings.stranger_body_s)
        if (self._size or 0) > most:
            raise self._refuse(*_too_large(most))
        if not is_stranger:
            size = _FIRST_BYTES if self._size is None else self._size
            await self._hold(self._limits.small[self._caller], min(size, _FIRST_BYTES))
        try:
            async with asyncio.timeout(seconds) as timer:

                async def grow(size: int) -> None:
                    if not is_stranger and not self._is_large and size > _FIRST_BYTES:
                        timer.reschedule(None)
                        await self._hold_large()
                        timer.reschedule(asyncio.get_running_loop().time() + seconds)

                body = await read_body(Paced(receive, settings.pace_s), most, grow)
        except TimeoutError:
            raise self._refuse(408, f"the body was not there after {seconds:g} s") from None
        except TooSlow:
            raise self._refuse(*_too_slow(settings.pace_s)) from None
        except TooLarge:
            raise self._refuse(*_too_large(most)) from None
        if refusal := check_json(body, self._limit, settings.depth):
            raise self._refuse(*refusal)
        self._give_time()
        return body

    def _refuse(self, status: int, reason: str, retry_after_s: float = 0) -> Refused:
        self._refused = status, reason, retry_after_s
        return Refused(reason)

    async def _hold_large(self) -> None:
        """The first part of a large body is there: the rest needs room among the large ones."""
        await self._hold(self._limits.large[self._caller], self._size or self._limit.body_bytes)
        self._is_large = True
        budget, amount = self._held.pop(0)
        budget.give_back(self._holder, amount)

    async def _hold(self, budget: Budget, amount: int) -> None:
        """Wait for room. A body that waits for room among the large ones has some among the small ones, and
        never the other way round, so two bodies never wait for each other.
        """
        try:
            async with asyncio.timeout(self._settings.body_s):
                self._held.append((budget, await budget.take(self._holder, amount)))
        except (TimeoutError, NoRoom):
            raise self._refuse(*_BUSY) from None
        self._give_time()

    def _give_back(self) -> None:
        while self._held:
            budget, amount = self._held.pop()
            budget.give_back(self._holder, amount)

    def _moved(self, *, is_exceeded: bool = False, is_slow: bool = False) -> None:
        """More of a streamed body came, or did not come."""
        self._give_time()
        if self._connection is not None:
            self._connection.touch()
        if is_exceeded:
            self._refused = *_too_large(self._limit.body_bytes), 0
        if is_slow:
            self._refused = *_too_slow(self._settings.pace_s), 0

    def _give_time(self) -> None:
        """A body that keeps coming may take as long as it likes."""
        if not self._has_begun:
            self._timer.reschedule(asyncio.get_running_loop().time() + self._settings.answer_s)

    async def _send(self, message: Message, send: Send) -> None:
        if self._refused is not None and not self._has_begun:
            return
        if message["type"] == "http.response.start":
            if not self._is_counted and (wait := self._count_stranger()):
                # It came with a token that is not valid, or to where none is needed.
                self._refused = 429, _TOO_MANY, wait
                return
            self._has_begun = True
            self._timer.reschedule(None)
            if close := self._close():
                message["headers"] = [*message.get("headers", ()), *close]
        elif len(body := message.get("body", b"")) > PIECE:
            await self._send_pieces(body, message, send)
            return
        await send(message)

    async def _send_pieces(self, body: bytes, message: Message, send: Send) -> None:
        """Send a long part of an answer, so that little of it waits for a client that takes nothing."""
        for start in range(0, len(body), PIECE):
            end = start + PIECE
            more = end < len(body) or message.get("more_body", False)
            await send({"type": message["type"], "body": body[start:end], "more_body": more})
            if self._connection is not None:
                self._connection.touch()
