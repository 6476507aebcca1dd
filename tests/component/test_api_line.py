# SPDX-License-Identifier: Apache-2.0
"""One connection that is kept, to servers that close it, are silent, or are somebody else."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import AF_INET, AF_INET6

import pytest

from muster.node.answers import Answer
from muster.node.api_line import ApiLine
from tests.component.kube_api import Pki


class _Server(ThreadingHTTPServer):
    """It notes what it is asked by whom; on some paths it does not behave."""

    block_on_close = False

    def __init__(self, pki: Pki, host: str) -> None:
        self.address_family = AF_INET6 if ":" in host else AF_INET
        self.asked: list[tuple[int, str, str, bytes]] = []
        """The connection, by the port that it comes from; method and path; the header Host; the body."""
        self.let_go = threading.Event()
        super().__init__((host, 0), _Answering)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(pki.folder / "ca.crt"))
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_cert_chain(pki.folder / "server.crt", pki.folder / "server.key")
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that break off are what is tested."""


class _Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        assert isinstance(self.server, _Server)
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        what = f"{self.command} {self.path}"
        self.server.asked.append((self.client_address[1], what, self.headers["Host"], body))
        if self.path == "/silent":
            self.server.let_go.wait(30)
        if self.path == "/broken":
            self.close_connection = True
            return
        self.send_response(200)
        self.send_header("Content-Length", "9" if self.path == "/short" else "2")
        if self.path == "/warned":
            self.send_header("Warning", '299 - "would violate \\"baseline\\""')
            self.send_header("Warning", '299 - "deprecated"')
        self.end_headers()
        self.wfile.write(b"ok")
        # Without a word of it before, as an API does that ends.
        self.close_connection = self.path in ("/last", "/short")

    do_GET = do_PATCH = _answer

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@contextlib.contextmanager
def _serve(pki: Pki, host: str) -> Iterator[_Server]:
    with _Server(pki, host) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server
        finally:
            server.let_go.set()
            server.shutdown()
            thread.join()


@pytest.fixture
def pki(tmp_path: Path) -> Pki:
    return Pki(tmp_path / "pki", "localhost", "127.0.0.1", "::1")


@pytest.fixture
def server(pki: Pki) -> Iterator[_Server]:
    with _serve(pki, "127.0.0.1") as made:
        yield made


def _line(pki: Pki, server: _Server, place: str = "https://127.0.0.1:{}", **more: float) -> ApiLine:
    address = place.format(server.server_address[1])
    return ApiLine(pki.write_kubeconfig(pki.folder / "kubeconfig", address), **more)


def _ask(line: ApiLine, *paths: str) -> list[Answer]:
    async def work() -> list[Answer]:
        return [await line.request("GET", path) for path in paths]

    with contextlib.closing(line):
        return asyncio.run(work())


def test_warnings_come_with_the_answer(pki: Pki, server: _Server) -> None:
    plain, warned = _ask(_line(pki, server), "/", "/warned")
    assert plain.warnings == ()
    assert warned == Answer(200, b"ok", ('would violate "baseline"', "deprecated"))


@pytest.mark.parametrize(
    ("place", "bound"), [("127.0.0.1", "127.0.0.1"), ("localhost", "127.0.0.1"), ("[::1]", "::1")]
)
def test_one_connection_is_kept(pki: Pki, place: str, bound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    with _serve(pki, bound) as server:
        line = _line(pki, server, f"https://{place}:{{}}/below")
        assert _ask(line, "/a", "/b?c=d") == [Answer(200, b"ok")] * 2
        host = f"{place}:{server.server_address[1]}"
        assert [each[1:3] for each in server.asked] == [("GET /below/a", host), ("GET /below/b?c=d", host)]
        assert len({each[0] for each in server.asked}) == 1


def test_a_body_and_headers_are_sent(pki: Pki, server: _Server) -> None:
    with contextlib.closing(_line(pki, server)) as line:
        answer = asyncio.run(line.request("PATCH", "/x", b"{}", {"Host": "somebody"}))
    assert answer.is_ok
    assert [each[1:] for each in server.asked] == [("PATCH /x", "somebody", b"{}")]


def test_a_connection_that_broke_is_opened_anew_once(pki: Pki, server: _Server) -> None:
    answers = _ask(_line(pki, server), "/last", "/last", "/a", "/broken", "/a")
    assert [each.status for each in answers] == [200, 200, 200, 0, 200]
    assert answers[3].words.startswith("no connection: ")
    assert [each[1] for each in server.asked].count("GET /broken") == 2
    assert len({each[0] for each in server.asked}) == 5


def test_half_an_answer_is_none(pki: Pki, server: _Server) -> None:
    assert [each.status for each in _ask(_line(pki, server), "/short", "/a")] == [0, 200]


def test_a_question_has_a_deadline(pki: Pki, server: _Server) -> None:
    start = time.monotonic()
    answers = _ask(_line(pki, server, deadline_s=1.0), "/a", "/silent", "/a")
    assert answers == [Answer(200, b"ok"), Answer(0, b"no answer in time"), Answer(200, b"ok")]
    assert time.monotonic() - start < 20
    assert [each[1] for each in server.asked].count("GET /silent") == 1, "its time is over"


def test_who_is_cancelled_does_not_wait_for_an_answer(pki: Pki, server: _Server) -> None:
    async def work(line: ApiLine) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await line.request("GET", "/silent")
        assert (await line.request("GET", "/a")).is_ok

    start = time.monotonic()
    with contextlib.closing(_line(pki, server)) as line:
        asyncio.run(work(line))
    assert time.monotonic() - start < 20


def _stranger(pki: Pki, server: _Server) -> ApiLine:
    other = Pki(pki.folder / "other", "127.0.0.1")
    place = f"https://127.0.0.1:{server.server_address[1]}"
    return ApiLine(pki.write_kubeconfig(pki.folder / "kubeconfig", place, other.bundle))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (_stranger, "the API's certificate is not accepted: "),
        (lambda pki, _: ApiLine(pki.folder / "absent"), "cannot read "),
        (lambda pki, server: _line(pki, server, "https://127.0.0.1:no"), "no connection: "),
        (lambda pki, server: _line(pki, server, "https://127.0.0.1:1"), "no connection: connection refused"),
        (lambda pki, server: _line(pki, server, "https://x.invalid"), "the name of the API is not known"),
    ],
)
def test_whoever_cannot_be_asked_does_not_answer(
    make: Callable[[Pki, _Server], ApiLine], words: str, pki: Pki, server: _Server
) -> None:
    (answer,) = _ask(make(pki, server), "/a")
    assert answer.status == 0
    assert words in answer.words
    assert server.asked == []
