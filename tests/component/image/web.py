# SPDX-License-Identifier: Apache-2.0
"""A web server that misbehaves on purpose, and counts what it is asked and what it serves."""

from __future__ import annotations

import re
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PIECE = 16 << 10


@dataclass
class Web:
    """What is served, and how badly."""

    files: dict[str, bytes] = field(default_factory=dict)
    etag: str = '"one"'
    last_modified: str = "Mon, 05 Jan 2026 10:00:00 GMT"
    statuses: list[int] = field(default_factory=list)
    """Answers instead of the file, one per request."""
    cuts: list[int] = field(default_factory=list)
    """How many bytes of the body are sent, one per request, before the connection is cut."""
    ranges: bool = True
    ignores_if_range: bool = False
    announces_length: bool = True
    redirects: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    pause_at: int = -1
    """After so many bytes the server waits for `go_on`."""
    paused: threading.Event = field(default_factory=threading.Event)
    go_on: threading.Event = field(default_factory=threading.Event)
    silence_s: float = 0
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    served_bytes: int = 0
    url: str = ""

    def forget(self) -> None:
        self.requests.clear()
        self.served_bytes = 0


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    web: Web

    def log_message(self, *_: object) -> None:
        pass

    def do_CONNECT(self) -> None:
        self.web.requests.append((f"CONNECT {self.path}", {}))
        self._empty(407)

    def do_GET(self) -> None:
        web = self.web
        web.requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        path = re.sub(r"^http://[^/]+", "", self.path).partition("?")[0]
        if web.statuses:
            return self._empty(web.statuses.pop(0))
        if path in web.redirects:
            return self._empty(302, Location=web.redirects[path])
        if path not in web.files:
            return self._empty(404)
        if web.etag and self.headers.get("If-None-Match") == web.etag:
            return self._empty(304)
        return self._file(web.files[path])

    def _empty(self, status: int, **headers: str) -> None:
        self.send_response(status)
        for name, value in {**headers, **self.web.headers}.items():
            self.send_header(name, value)
        if status != 304:
            self.send_header("Content-Length", "0")
        self.end_headers()

    def _file(self, body: bytes) -> None:
        web = self.web
        start = self._start()
        if start >= len(body):
            return self._empty(416)
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        for name, value in (("ETag", web.etag), ("Last-Modified", web.last_modified)):
            if value:
                self.send_header(name, value)
        if web.announces_length:
            self.send_header("Content-Length", str(len(body) - start))
        else:
            self.close_connection = True
            self.send_header("Connection", "close")
        self.end_headers()
        self._send(body[start:])
        return None

    def _start(self) -> int:
        web = self.web
        match = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if match is None or not web.ranges:
            return 0
        valid = self.headers.get("If-Range") in (web.etag, web.last_modified)
        return int(match[1]) if valid or web.ignores_if_range else 0

    def _send(self, body: bytes) -> None:
        web = self.web
        end = web.cuts.pop(0) if web.cuts else len(body)
        for offset in range(0, end, PIECE):
            if 0 <= web.pause_at <= offset:
                web.paused.set()
                web.go_on.wait(60)
            piece = body[offset : min(offset + PIECE, end)]
            try:
                self.wfile.write(piece)
            except OSError:
                self.close_connection = True
                return
            web.served_bytes += len(piece)
        if web.silence_s:
            time.sleep(web.silence_s)
        if end < len(body):
            self.close_connection = True


@contextmanager
def start_web(context: ssl.SSLContext | None = None) -> Iterator[Web]:
    """Serve on a free port of this machine until the context ends."""
    web = Web()
    handler = type("Handler", (_Handler,), {"web": web})
    server = _Server(("127.0.0.1", 0), handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    web.url = f"{'https' if context else 'http'}://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield web
    finally:
        web.go_on.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that go away, or do not trust us, are what the tests are about."""
