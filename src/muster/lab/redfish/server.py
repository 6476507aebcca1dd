# SPDX-License-Identifier: Apache-2.0
"""HTTP for the management controllers: the standard library's server around the application."""

from __future__ import annotations

import logging
import socket
import ssl
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar, Final
from urllib.parse import unquote, urlsplit

from muster.errors import UserError
from muster.frozen import dataclass
from muster.lab.redfish.app import App
from muster.lab.redfish.messages import Refused, Request, Response

_logger: Final = logging.getLogger(__name__)
_LARGEST: Final = 1 << 20
_IDLE_S: Final = 60


@dataclass(frozen=True)
class Endpoint:
    """Where the controllers listen."""

    address: str = "127.0.0.1"
    port: int = 0
    """0 for any that is free."""
    certificate: Path | None = None
    """A file with a certificate and its key, for HTTPS."""


class RedfishServer(ThreadingHTTPServer):
    """Serves an application; ``serve_forever`` runs it, ``shutdown`` ends that."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, app: App, endpoint: Endpoint) -> None:
        self.app = app
        self.address_family = socket.AF_INET6 if ":" in endpoint.address else socket.AF_INET
        try:
            super().__init__((endpoint.address, endpoint.port), _Handler)
        except OSError as error:
            raise UserError(
                f"Redfish cannot listen at {endpoint.address} port {endpoint.port}: {error.strerror}",
                hint="another program may have that port; name another one",
            ) from error
        self._scheme = "https" if endpoint.certificate else "http"
        if endpoint.certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(endpoint.certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    @property
    def url(self) -> str:
        """Where clients find it."""
        host, port = str(self.server_address[0]), self.server_address[1]
        return f"{self._scheme}://{f'[{host}]' if ':' in host else host}:{port}"


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # A response goes out as a whole, not line by line.
    timeout: ClassVar[float | None] = _IDLE_S

    def _serve(self) -> None:
        assert isinstance(self.server, RedfishServer)
        try:
            response = self.server.app.answer(self._read())
        except Refused as refused:
            self.close_connection = True
            response = refused.response()
        except Exception:
            _logger.exception("%s %s failed", self.command, self.path)
            response = Refused(500, "InternalError", "this is a bug in the lab; its log says more").response()
        self._write(response)

    do_GET = do_HEAD = do_POST = do_PATCH = do_DELETE = do_PUT = _serve

    def _read(self) -> Request:
        length = self.headers.get("Content-Length", "0")
        if not length.isdigit() or self.headers.get("Transfer-Encoding"):
            raise Refused(411, "GeneralError", "a body comes with its length")
        if int(length) > _LARGEST:
            raise Refused(413, "PayloadTooLarge", f"a body has at most {_LARGEST} bytes")
        path = unquote(urlsplit(self.path).path).rstrip("/")
        headers = {name.lower(): value for name, value in self.headers.items()}
        return Request(self.command, path, headers, self.rfile.read(int(length)))

    def _write(self, response: Response) -> None:
        content = response.content
        self.send_response(response.status)
        self.send_header("OData-Version", "4.0")
        self.send_header("Cache-Control", "no-cache")
        for name, value in response.headers:
            self.send_header(name, value)
        if content:
            self.send_header("Content-Type", "application/json; charset=utf-8")
        if response.status not in (204, 304):
            self.send_header("Content-Length", str(len(content)))
        if self.close_connection:  # Else the client would use it once more, in vain.
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def version_string(self) -> str:
        return "MusterLab"

    def log_message(self, format: str, *args: object) -> None:
        _logger.info(format, *args)
