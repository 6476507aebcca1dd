# SPDX-License-Identifier: Apache-2.0
"""What steps fetch from web servers on this machine, and what they make of servers that fail."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import msgspec
import pytest

from muster.agent.steps.outcome import Outcome
from muster.model.wire.reports import (
    ApiVipConnectivityResponse,
    TangConnectivityResponse,
    TangServerResponse,
    TangSignature,
)
from tests.component.agent_steps.acting import act
from tests.component.release.authority import Authority

IGNITION: dict[str, Any] = {
    "ignition": {"version": "3.2.0"},
    "storage": {
        "files": [
            {"path": "/etc/kubernetes/kubeconfig", "contents": {"source": "data:,a"}},
            {"path": "/etc/secret", "contents": {"source": "data:,b"}},
        ],
        "luks": [{"name": "root", "clevis": {"tpm2": True}}],
    },
    "passwd": {"users": []},
}
PAGES = {
    "/config/worker": json.dumps(IGNITION),
    "/adv/abc": '{"payload": "p", "signatures": [{"protected": "x", "signature": "y"}]}',
    "/text": "<html>please log in</html>",
}


class Pages(BaseHTTPRequestHandler):
    """Some pages; who asked how is kept by the server."""

    def do_GET(self) -> None:
        assert isinstance(self.server, Server)
        self.server.asked.append(dict(self.headers))
        body = PAGES.get(self.path, "nothing here").encode()
        self.send_response(200 if self.path in PAGES else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    def __init__(self, authority: Authority | None) -> None:
        super().__init__(("127.0.0.1", 0), Pages)
        self.asked: list[dict[str, str]] = []
        scheme = "http"
        if authority is not None:
            self.socket = authority.context().wrap_socket(self.socket, server_side=True)
            scheme = "https"
        self.url = f"{scheme}://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that do not trust us go away; that is what is tested."""


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture(params=["http", "https"])
def server(request: pytest.FixtureRequest, authority: Authority) -> Iterator[Server]:
    with Server(authority if request.param == "https" else None) as made:
        thread = Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def without_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def fetch(request: dict[str, Any]) -> ApiVipConnectivityResponse:
    done = act("api_vip_connectivity_check", json.dumps(request))
    assert done.exit_code == 0
    return msgspec.json.decode(done.output, type=ApiVipConnectivityResponse)


def test_ignition_is_fetched_as_ignition_would(server: Server, authority: Authority) -> None:
    url = f"{server.url}/config/worker"
    found = fetch(
        {
            "url": url,
            "ca_certificate": base64.b64encode(authority.pem.encode()).decode(),
            "ignition_endpoint_token": "secret",
            "request_headers": [{"key": "X-Own", "value": "1"}],
        }
    )
    assert found.is_success, found.download_error
    assert found.url == url
    kept = json.loads(found.ignition or "")
    assert [each["path"] for each in kept["storage"]["files"]] == ["/etc/kubernetes/kubeconfig"]
    assert kept["storage"]["luks"] == IGNITION["storage"]["luks"]
    (asked,) = server.asked
    assert asked["Accept"] == "application/vnd.coreos.ignition+json; version=3.2.0"
    assert asked["Authorization"] == "Bearer secret"
    assert asked["X-Own"] == "1"


def test_what_is_no_ignition(server: Server, authority: Authority) -> None:
    trusted = {"ca_certificate": base64.b64encode(authority.pem.encode()).decode()}
    found = fetch({"url": f"{server.url}/text", **trusted})
    assert found.is_success is False
    assert found.download_error == "what came is no Ignition: <html>please log in</html>"
    found = fetch({"url": f"{server.url}/config/none", **trusted})
    assert found.download_error == "404 Not Found: nothing here"


def test_a_server_that_nobody_vouches_for(authority: Authority, tmp_path: Path) -> None:
    with Server(authority) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        found = fetch({"url": f"{server.url}/config/worker"})
        server.shutdown()
        thread.join()
    assert found.is_success is False
    assert "certificate verify failed" in (found.download_error or "")
    assert server.asked == []


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/config/worker", "not an address", "ftp://127.0.0.1/a"])
def test_nobody_there(url: str) -> None:
    found = fetch({"url": url})
    assert found.is_success is False
    assert found.download_error


def ask_tang(*servers: dict[str, str]) -> tuple[Outcome, TangConnectivityResponse]:
    done = act("tang_connectivity_check", json.dumps({"tang_servers": json.dumps(servers)}))
    assert done.exit_code == 0
    return done, msgspec.json.decode(done.output, type=TangConnectivityResponse)


def test_a_tang_server_that_fails_does_not_hide_the_others() -> None:
    with Server(None) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        good = {"url": server.url, "thumbprint": "abc"}
        _, alone = ask_tang(good)
        done, both = ask_tang({"url": "http://127.0.0.1:1", "thumbprint": "abc"}, good)
        server.shutdown()
        thread.join()
    answer = TangServerResponse(
        tang_url=server.url, payload="p", signatures=(TangSignature(protected="x", signature="y"),)
    )
    assert alone == TangConnectivityResponse(is_success=True, tang_server_response=(answer,))
    assert both == TangConnectivityResponse(is_success=False, tang_server_response=(answer,))
    assert done.error.startswith("http://127.0.0.1:1: ")
