# SPDX-License-Identifier: Apache-2.0
"""The interface as an ASGI application: find the operation, see who asks, answer; failures become words."""

from __future__ import annotations

import hashlib
import logging
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any, Final, TypeAlias

import msgspec

from muster.errors import MusterError
from muster.model.wire.files import Error, InfraError
from muster.service.api.asking import make_check
from muster.service.api.call import OPERATIONS, STREAMED, Answers, Call, LoginOperations, Reply
from muster.service.api.house import check_house
from muster.service.api.router import Router
from muster.service.api.table.route import Route
from muster.service.api.table.shapes import SHAPES
from muster.service.audit import Audit, Caller, Request
from muster.service.auth.credentials import Knock, pairs
from muster.service.auth.guard import Guard
from muster.service.auth.personas import Grant, Persona
from muster.service.edge.body import Gone, Unread
from muster.service.edge.connections import Caller as CallerKind
from muster.service.edge.headers import STATE_KEY
from muster.service.edge.limits import VISITOR_KEY
from muster.service.refusals import BadRequest, NotFound, Outdated, Refusal, code_of, for_callers
from muster.service.service import Service
from muster.serving.quiet_log import QuietLog

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_log: Final = logging.getLogger("muster.service")
_bugs: Final = QuietLog(_log, time.monotonic)
_troubles: Final = QuietLog(_log, time.monotonic)
_encoder: Final = msgspec.json.Encoder()
_WHO: Final = 401
_TRIES: Final = 4
_LARGE: Final = 2 << 20


class NotAdmitted(MusterError):
    """Who asks may not."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class TooMany(Refusal):
    """A holder of a token sends more requests than allowed."""

    code = 429

    def __init__(self, wait_s: float) -> None:
        super().__init__("too many requests", hint=f"try again in {math.ceil(wait_s)} s")
        self.wait_s = wait_s


class Api:
    """All operations over one service."""

    def __init__(
        self, service: Service, routes: Iterable[Route], guard: Guard, login: LoginOperations, audit: Audit
    ) -> None:
        self._service, self._guard, self._login, self._audit = service, guard, login, audit
        known = [route for route in routes if route.operation_id in OPERATIONS]
        self._router = Router(known)
        self._checks = {each.operation_id: make_check(SHAPES[each.operation_id]) for each in known}

    def has(self, path: str) -> bool:
        """Whether a path is one of the interface."""
        return bool(self._router.find(path)[0])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        caller = Caller()
        operation, reply = await self._answer(scope, receive, caller)
        self._service.requests[operation, reply.status] += 1
        request = Request(scope["method"], operation, _client(scope), _request_id(scope), caller)
        self._audit.record(request, reply.status)
        await _send(reply, send, head=scope["method"] == "HEAD")

    async def _answer(self, scope: Scope, receive: Receive, caller: Caller) -> tuple[str, Reply]:
        routes, ids = self._router.find(scope["path"])
        caller.ids = ids
        if not routes:
            return "", _error(404, f"there is no {scope['path']}; see /openapi.json")
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        route = routes.get(method)
        if route is None:
            known = ", ".join(sorted(routes))
            refused = _error(405, f"{scope['path']} knows {known}, not {method}")
            return "", Reply(405, refused.body, headers=(("allow", known),))
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        try:
            grant = await self._admit(route, scope, caller)
            check_house(self._service.around.house, route, grant)
            query = _query(scope)
            if (check := self._checks[route.operation_id]) is not None:
                check(query, headers)
            is_streamed = route.operation_id in STREAMED
            body = b"" if method == "GET" or is_streamed else await _read(receive)
            call = Call(
                service=self._service,
                ids=ids,
                query=query,
                headers=headers,
                body=body,
                grant=grant,
                request_id=_request_id(scope),
                client=_client(scope),
                login=self._login,
                chunks=_stream(receive) if is_streamed else None,
            )
            reply = await self._operate(OPERATIONS[route.operation_id], call, is_read=method == "GET")
        except Unread:
            raise
        except Exception as error:  # noqa: BLE001 - nobody is answered with a traceback
            return route.operation_id, _failure(error, route)
        return route.operation_id, await self._tagged(reply, headers) if method == "GET" else reply

    async def _admit(self, route: Route, scope: Scope, caller: Caller) -> Grant | None:
        raw: bytes = scope["query_string"]
        knock = Knock(scope["method"], scope["path"], raw, scope["headers"], caller.ids)
        admission = self._guard.admit(route, knock, self._service.now().timestamp())
        refused = not admission.verdict.is_allowed and admission.verdict.status != _WHO
        if refused and await self._service.look_again():
            admission = self._guard.admit(route, knock, self._service.now().timestamp())
        caller.identify(admission.grant)
        if not admission.verdict.is_allowed:
            caller.refusal = admission.verdict.reason
            raise NotAdmitted(admission.verdict.status, admission.verdict.reason)
        if admission.grant is not None:
            _identify(scope, admission.grant)
        return admission.grant

    async def _tagged(self, reply: Reply, headers: Mapping[str, str]) -> Reply:
        """The answer with its tag, which takes a while of a large one."""
        if isinstance(reply.body, bytes) and len(reply.body) > _LARGE:
            return await self._service.around.background.compute(lambda: _tag(reply, headers))
        return _tag(reply, headers)

    async def _operate(self, operation: Answers, call: Call, *, is_read: bool) -> Reply:
        """Answer; what was overtaken by another replica is answered again, from what is so now."""
        for _ in range(_TRIES):
            try:
                return await operation(call)
            except Outdated:
                if not is_read:
                    raise
            except NotFound:
                if not await self._service.look_again():
                    raise
        return await operation(call)


def _identify(scope: Scope, grant: Grant) -> None:
    """A valid token came with this request: it counts for the holder of the token alone."""
    visitor = scope.get("state", {}).get(VISITOR_KEY)
    if visitor is not None and (wait := visitor.identify(*_holder(grant))):
        raise TooMany(wait)


def _holder(grant: Grant) -> tuple[CallerKind, str]:
    """Whose token it is: of one host, of all hosts of a medium, or of one session."""
    scope = grant.scope
    if grant.persona is Persona.HOST:
        return "hosts", f"{scope.infra_env_id}/{scope.host_id}"
    if grant.persona in (Persona.MEDIUM, Persona.IMAGE):
        return "media", scope.infra_env_id or ""
    return "people", grant.session or f"{grant.persona} {scope.cluster_id or ''} {grant.expires or ''}"


def _query(scope: Scope) -> dict[str, str]:
    """What is said several times is a list, as if it were written with commas."""
    raw: bytes = scope["query_string"]
    found: dict[str, str] = {}
    for name, value in pairs(raw):
        found[name] = f"{found[name]},{value}" if name in found else value
    return found


def _client(scope: Scope) -> str:
    return scope["client"][0] if scope.get("client") else ""


def _request_id(scope: Scope) -> str:
    state = scope.get("state")
    return str(state.get(STATE_KEY, "")) if state else ""


async def _read(receive: Receive) -> bytes:
    parts, more = [], True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    return parts[0] if len(parts) == 1 else b"".join(parts)


async def _stream(receive: Receive) -> AsyncIterator[bytes]:
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise BadRequest("the body breaks off", hint="send it again")
        yield message.get("body", b"")
        if not message.get("more_body"):
            return


async def _send(reply: Reply, send: Send, *, head: bool) -> None:
    headers = [(name.encode(), value.encode("latin-1", "replace")) for name, value in reply.headers]
    if reply.status not in (204, 304):
        headers.append((b"content-type", reply.media_type.encode()))
    if isinstance(reply.body, bytes):
        headers.append((b"content-length", b"%d" % len(reply.body)))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    if isinstance(reply.body, bytes):
        await send({"type": "http.response.body", "body": b"" if head else reply.body})
        return
    async for part in reply.body:
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def _tag(reply: Reply, headers: Mapping[str, str]) -> Reply:
    """Whoever has this answer already need not get it again."""
    if reply.status != 200 or not isinstance(reply.body, bytes):
        return reply
    tag = f'"{hashlib.blake2b(reply.body, digest_size=12).hexdigest()}"'
    known = headers.get("if-none-match", "")
    if known and (known == "*" or tag in known):
        return Reply(304, b"", reply.media_type, (("etag", tag),))
    return Reply(200, reply.body, reply.media_type, (*reply.headers, ("etag", tag)))


def _failure(error: Exception, route: Route) -> Reply:
    if isinstance(error, NotAdmitted):
        return Reply(error.code, _encoder.encode(InfraError(code=error.code, message=error.message)))
    if isinstance(error, TooMany):
        refused = _told(error, route)
        return Reply(refused.status, refused.body, headers=(("retry-after", str(math.ceil(error.wait_s))),))
    if isinstance(error, MusterError):
        return _told(error, route)
    # Each kind of failure once a minute, so that a caller cannot fill the log.
    kind = f"{route.operation_id} {type(error).__name__}"
    _bugs.write(logging.ERROR, kind, "%s: a bug in Muster", route.operation_id, error=error)
    return _error(500, f"{route.operation_id} failed through a bug in Muster; its log has more")


def _told(error: MusterError, route: Route) -> Reply:
    """The words of an error, without the paths of the service's own files: those are for its log alone."""
    message, hint = for_callers(error)
    if message != error.message:
        _troubles.write(
            logging.ERROR, error.message, "%s: %s (%s)", route.operation_id, error.message, error.hint
        )
    return _error(code_of(error), f"{message}; {hint}" if hint else message, hint)


def _error(code: int, reason: str, hint: str = "") -> Reply:
    body = Error(kind="Error", id=code, href="", code=str(code), reason=reason, hint=hint)
    return Reply(code, _encoder.encode(body))
