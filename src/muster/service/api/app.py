# SPDX-License-Identifier: Apache-2.0
"""The interface as an ASGI application: find the operation, see who asks, answer; failures become words."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any, Final, TypeAlias

import msgspec

from muster.errors import MusterError
from muster.model.wire.files import Error, InfraError
from muster.service.api.asking import make_check
from muster.service.api.call import OPERATIONS, Answers, Call, LoginOperations, Reply
from muster.service.api.house import check_house
from muster.service.api.router import Router
from muster.service.api.table.route import Route
from muster.service.api.table.shapes import SHAPES
from muster.service.auth.credentials import Knock, pairs
from muster.service.auth.guard import Guard
from muster.service.auth.personas import Grant
from muster.service.edge.headers import STATE_KEY
from muster.service.refusals import NotFound, Outdated, code_of
from muster.service.service import Service

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_log: Final = logging.getLogger("muster.service")
_encoder: Final = msgspec.json.Encoder()
_WHO: Final = 401
_TRIES: Final = 4


class NotAdmitted(MusterError):
    """Who asks may not."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Api:
    """All operations over one service."""

    def __init__(
        self, service: Service, routes: Iterable[Route], guard: Guard, login: LoginOperations
    ) -> None:
        self._service, self._guard, self._login = service, guard, login
        known = [route for route in routes if route.operation_id in OPERATIONS]
        self._router = Router(known)
        self._checks = {each.operation_id: make_check(SHAPES[each.operation_id]) for each in known}

    def has(self, path: str) -> bool:
        """Whether a path is one of the interface."""
        return bool(self._router.find(path)[0])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        operation, reply = await self._answer(scope, receive)
        self._service.requests[operation, reply.status] += 1
        await _send(reply, send, head=scope["method"] == "HEAD")

    async def _answer(self, scope: Scope, receive: Receive) -> tuple[str, Reply]:
        routes, ids = self._router.find(scope["path"])
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
            grant = await self._admit(route, ids, scope)
            check_house(self._service.around.house, route, grant)
            query = _query(scope)
            if (check := self._checks[route.operation_id]) is not None:
                check(query, headers)
            body = await _read(receive) if method != "GET" else b""
            call = Call(
                service=self._service,
                ids=ids,
                query=query,
                headers=headers,
                body=body,
                grant=grant,
                request_id=_request_id(scope),
                client=scope["client"][0] if scope.get("client") else "",
                login=self._login,
            )
            reply = await self._operate(OPERATIONS[route.operation_id], call, is_read=method == "GET")
        except Exception as error:  # noqa: BLE001 - nobody is answered with a traceback
            return route.operation_id, _failure(error, route)
        return route.operation_id, _tag(reply, headers) if method == "GET" else reply

    async def _admit(self, route: Route, ids: Mapping[str, str], scope: Scope) -> Grant | None:
        raw: bytes = scope["query_string"]
        knock = Knock(scope["method"], scope["path"], raw, scope["headers"], ids)
        admission = self._guard.admit(route, knock, self._service.now().timestamp())
        refused = not admission.verdict.is_allowed and admission.verdict.status != _WHO
        if refused and await self._service.look_again():
            admission = self._guard.admit(route, knock, self._service.now().timestamp())
        if not admission.verdict.is_allowed:
            raise NotAdmitted(admission.verdict.status, admission.verdict.reason)
        return admission.grant

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


def _query(scope: Scope) -> dict[str, str]:
    """What is said several times is a list, as if it were written with commas."""
    raw: bytes = scope["query_string"]
    found: dict[str, str] = {}
    for name, value in pairs(raw):
        found[name] = f"{found[name]},{value}" if name in found else value
    return found


def _request_id(scope: Scope) -> str:
    state = scope.get("state")
    return str(state.get(STATE_KEY, "")) if state else ""


async def _read(receive: Receive) -> bytes:
    message = await receive()
    body: bytes = message.get("body", b"")
    if not message.get("more_body"):
        return body
    parts = [body]
    while message.get("more_body"):
        message = await receive()
        parts.append(message.get("body", b""))
    return b"".join(parts)


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
    if isinstance(error, MusterError):
        reason = f"{error.message}; {error.hint}" if error.hint else error.message
        return _error(code_of(error), reason, error.hint)
    _log.error("%s: a bug in Muster", route.operation_id, exc_info=error)
    return _error(500, f"{route.operation_id} failed through a bug in Muster; its log has more")


def _error(code: int, reason: str, hint: str = "") -> Reply:
    body = Error(kind="Error", id=code, href="", code=str(code), reason=reason, hint=hint)
    return Reply(code, _encoder.encode(body))
