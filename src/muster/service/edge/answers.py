# SPDX-License-Identifier: Apache-2.0
"""Answers that are given at the door, in the shapes that clients of this interface know."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any, Final, TypeAlias

from msgspec import json

from muster.model.wire.files import Error, InfraError

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers: TypeAlias = Sequence[tuple[bytes, bytes]]

_AUTH: Final = (401, 403)


def render_error(status: int, reason: str) -> bytes:
    """The body of an error. Those about who is calling look different from all others."""
    if status in _AUTH:
        return json.encode(InfraError(code=status, message=reason))
    return json.encode(Error(kind="Error", id=status, href="", code=str(status), reason=reason))


def error_headers(status: int, retry_after_s: float = 0) -> list[tuple[bytes, bytes]]:
    """The headers of an error, beside its length."""
    headers = [(b"content-type", b"application/json")]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if retry_after_s:
        headers.append((b"retry-after", b"%d" % max(1, math.ceil(retry_after_s))))
    return headers


async def send_error(send: Send, status: int, reason: str, *, more: Headers = ()) -> None:
    """Answer with an error, and nothing else."""
    body = render_error(status, reason)
    headers = [*(more or error_headers(status)), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def header_of(scope: Scope, name: bytes) -> bytes:
    """The first header of a name (in lower case), or nothing."""
    for each, value in scope["headers"]:
        if each == name:
            found: bytes = value
            return found
    return b""
