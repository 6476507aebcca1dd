# SPDX-License-Identifier: Apache-2.0
"""Answers as an API that is ready does: `python -m tests.component.vips.api CERTIFICATE KEY`."""

from __future__ import annotations

import ssl
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/readyz" else 404)
        self.end_headers()


def main() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*sys.argv[1:3])
    server = HTTPServer(("127.0.0.1", 6443), _Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
