# SPDX-License-Identifier: Apache-2.0
"""The parts that the HTTP client is put together from: only HTTP and HTTPS, no file, no FTP."""

from __future__ import annotations

import http.client
import os
import ssl
import urllib.request
from collections.abc import Callable, Sequence
from email.message import Message
from functools import partial
from typing import IO, Any
from urllib.parse import urlsplit

from muster.release.oci.proxies import is_direct
from muster.release.oci.trust import build_context


def build_opener(authorities: Sequence[str], read_s: float) -> urllib.request.OpenerDirector:
    """A client with these authorities besides those of the system, and this limit for silence, in seconds."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        _Proxies(),
        _Http(read_s),
        _Https(build_context(authorities), read_s),
        _Redirects(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener


class _Proxies(urllib.request.ProxyHandler):
    """The proxies of the environment; NO_PROXY may have networks, as Go's and curl's may."""

    def proxy_open(self, req: urllib.request.Request, proxy: str, type: str) -> Any:
        host = urlsplit(req.full_url).hostname or ""
        if is_direct(host, os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""):
            return None
        return super().proxy_open(req, proxy, type)


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows to HTTP and HTTPS, and never from HTTPS to what anybody can read and change."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> urllib.request.Request | None:  # fmt: skip
        if req.full_url.lower().startswith("https:") and not newurl.lower().startswith("https:"):
            return None
        return super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]


class _Http(urllib.request.HTTPHandler):
    def __init__(self, read_s: float) -> None:
        super().__init__()
        self._connection: Callable[..., Any] = partial(_Connection, read_s=read_s)

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(self._connection, req)


class _Https(urllib.request.HTTPSHandler):
    def __init__(self, context: ssl.SSLContext, read_s: float) -> None:
        super().__init__(context=context)
        self._connection: Callable[..., Any] = partial(_SecureConnection, context=context, read_s=read_s)

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(self._connection, req)


class _Connection(http.client.HTTPConnection):
    """Waits longer or shorter for bytes than it did for the connection."""

    def __init__(self, *args: Any, read_s: float, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._read_s = read_s

    def connect(self) -> None:
        super().connect()
        self.sock.settimeout(self._read_s)


class _SecureConnection(_Connection, http.client.HTTPSConnection):
    """The same with TLS; the handshake still belongs to the connection."""
