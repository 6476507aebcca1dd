# SPDX-License-Identifier: Apache-2.0
"""One connection to the Kubernetes API that is kept: to start a program for each question takes much longer.

The standard library's client in a thread: whoever asks is a short program on a machine that may be slow, and
has no time to load more than that.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
import time
from collections.abc import Mapping
from http.client import HTTPException, HTTPSConnection
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from muster.client.kubeconfig import load_access, make_client_context
from muster.errors import MusterError
from muster.frozen import dataclass
from muster.node.answers import NO_HEADERS, Answer, parse_warnings

_DEADLINE_S: Final = 120.0
_CONNECT_S: Final = 15.0
_TROUBLES: Final = (OSError, HTTPException, MusterError, ValueError)
"""The last one: a server in the kubeconfig that is no address."""


@dataclass(frozen=True)
class _Question:
    method: str
    path: str
    body: bytes
    headers: Mapping[str, str]


class ApiLine:
    """The way to the cluster that a kubeconfig names. One question at a time; `close` it at the end."""

    def __init__(self, kubeconfig: Path, deadline_s: float = _DEADLINE_S) -> None:
        self._kubeconfig, self._deadline_s = kubeconfig, deadline_s
        self._connection: HTTPSConnection | None = None
        self._prefix = ""
        self._end = 0.0

    async def request(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] = NO_HEADERS
    ) -> Answer:
        """Ask, and wait for the answer."""
        self._end = time.monotonic() + self._deadline_s
        question = _Question(method, path, body, headers)
        work = asyncio.ensure_future(asyncio.to_thread(self._ask, question))
        try:
            await asyncio.wait([work], timeout=self._deadline_s)
        finally:
            if not work.done():  # A thread cannot be ended, but what it waits for can.
                self._cut()
                await asyncio.wait([work])
        return work.result()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def _cut(self) -> None:
        self._end = 0.0
        connected = self._connection.sock if self._connection is not None else None
        if connected is not None:
            with contextlib.suppress(OSError):
                # Below TLS, whose state belongs to the thread.
                socket.socket.shutdown(connected, socket.SHUT_RDWR)

    def _ask(self, question: _Question) -> Answer:
        """In a thread. The API may have ended a connection that was kept: then it is opened anew, once."""
        is_kept = self._connection is not None and self._connection.sock is not None
        try:
            try:
                return self._exchange(question)
            except (OSError, HTTPException):
                self.close()
                if not is_kept:
                    raise
            return self._exchange(question)
        except _TROUBLES as error:
            self.close()
            late = TimeoutError() if time.monotonic() >= self._end else error
            return Answer(0, _words_of(late).encode())

    def _exchange(self, question: _Question) -> Answer:
        connection = self._connect()
        connection.request(
            question.method, self._prefix + question.path, question.body or None, dict(question.headers)
        )
        response = connection.getresponse()
        warnings = parse_warnings(response.headers.get_all("Warning", ()))
        return Answer(response.status, response.read(), warnings)

    def _connect(self) -> HTTPSConnection:
        connection = self._connection = self._connection or self._prepare()
        is_open = connection.sock is not None
        self._in_time()
        if not is_open:
            connection.connect()
            connection.sock.settimeout(self._deadline_s)
            self._in_time()
        return connection

    def _prepare(self) -> HTTPSConnection:
        access = load_access(self._kubeconfig)
        server = urlsplit(access.server)
        self._prefix = server.path
        # The port is always said: an IPv6 address without it would be taken for one with it.
        return HTTPSConnection(
            server.hostname or "", server.port or 443, timeout=_CONNECT_S, context=make_client_context(access)
        )

    def _in_time(self) -> None:
        if time.monotonic() >= self._end:
            raise TimeoutError


def _words_of(error: BaseException) -> str:
    """Why no answer came."""
    if isinstance(error, MusterError):
        return str(error)
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the API's certificate is not accepted: {error.verify_message}"
    if isinstance(error, socket.gaierror):
        return "the name of the API is not known"
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError) and error.errno:
        return f"no connection: {os.strerror(error.errno).lower()}"
    return f"no connection: {str(error) or type(error).__name__}"
