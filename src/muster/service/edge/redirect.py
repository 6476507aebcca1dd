# SPDX-License-Identifier: Apache-2.0
"""What answers on plain http: it only says where the same thing is over https."""

from __future__ import annotations

import re
from typing import Final

from muster.service.edge.answers import App, Receive, Scope, Send, header_of, send_error

_HOST: Final = re.compile(rb"(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9]([A-Za-z0-9.-]{0,252}))(:[0-9]{1,5})?")
_PERMANENT: Final = 308
"""Unlike 301, it does not turn a POST into a GET."""


def make_redirect(port: int) -> App:
    """The application; `port` is the one that https is served on."""

    async def redirect(scope: Scope, _receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        where = address_of(scope, port)
        if where is None:
            await send_error(send, 400, "the request does not say which host it is for; use https")
            return
        headers = [(b"location", where), (b"content-length", b"0"), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": _PERMANENT, "headers": headers})
        await send({"type": "http.response.body"})

    return redirect


def address_of(scope: Scope, port: int) -> bytes | None:
    """The same address over https, or None when the request names no host."""
    match = _HOST.fullmatch(header_of(scope, b"host"))
    if match is None:
        return None
    there = match[1] if port == 443 else b"%s:%d" % (match[1], port)
    # Two slashes at the beginning would be another host.
    path: bytes = b"/" + (scope.get("raw_path") or scope["path"].encode()).lstrip(b"/")
    query: bytes = scope["query_string"]
    return b"https://" + there + path + (b"?" + query if query else b"")
