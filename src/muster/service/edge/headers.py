# SPDX-License-Identifier: Apache-2.0
"""Headers on every answer: what browsers may do with it, and the name of the request that it belongs to."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from muster.service.edge.answers import App, Message, Receive, Scope, Send, header_of

REQUEST_ID: Final = b"x-request-id"
STATE_KEY: Final = "request_id"
"""Where handlers find the name of their request: `scope["state"][STATE_KEY]`."""
POLICY: Final = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
"""Small pictures stand in the style sheets themselves; nothing else comes from anywhere but here."""
FIXED: Final = (
    (b"content-security-policy", POLICY.encode("ascii")),
    (b"strict-transport-security", b"max-age=31536000"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
"""An address may carry a token, so it is told to nobody."""
_NO_STORE: Final = (b"cache-control", b"no-store")
_GOOD_ID: Final = re.compile(rb"[A-Za-z0-9._-]{1,64}")


class SecureHeaders:
    """ASGI middleware."""

    def __init__(self, app: App, make_id: Callable[[], str], api_prefix: str) -> None:
        self._app = app
        self._make_id = make_id
        self._api_prefix = api_prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = self._id_of(scope)
        scope.setdefault("state", {})[STATE_KEY] = request_id.decode("ascii")
        is_api = scope["path"].startswith(self._api_prefix)

        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = add_headers(message.get("headers", ()), request_id, is_api=is_api)
            await send(message)

        await self._app(scope, receive, send_on)

    def _id_of(self, scope: Scope) -> bytes:
        given = header_of(scope, REQUEST_ID)
        return given if _GOOD_ID.fullmatch(given) else self._make_id().encode("ascii")


def add_headers(
    headers: list[tuple[bytes, bytes]], request_id: bytes, *, is_api: bool
) -> list[tuple[bytes, bytes]]:
    """The headers of an answer with ours. What a handler has set itself stays; what we are stays with us."""
    kept = [(name, value) for name, value in headers if name.lower() not in (b"server", REQUEST_ID)]
    there = {name.lower() for name, _ in kept}
    kept += [each for each in FIXED if each[0] not in there]
    if is_api and b"cache-control" not in there:
        kept.append(_NO_STORE)
    kept.append((REQUEST_ID, request_id))
    return kept
