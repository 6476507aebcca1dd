# SPDX-License-Identifier: Apache-2.0
"""What requests and answers get on their way: clean paths, headers, a name, and the way to https."""

from __future__ import annotations

import json

import pytest

from muster.service.api.table import ROUTES
from muster.service.api.table.route import PREFIX
from muster.service.edge.answers import Message, Receive, Scope, Send, error_headers, render_error, send_error
from muster.service.edge.headers import SecureHeaders
from muster.service.edge.limits import LIMITS, Limit
from muster.service.edge.paths import CleanPaths, normalise
from muster.service.edge.redirect import make_redirect
from tests.unit.service.running import call, headers_of


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the path, and with what stands in the state."""
    body = json.dumps([scope["path"], scope.get("state", {}).get("request_id")]).encode()
    headers = [(b"Server", b"x"), (b"content-type", b"application/json")]
    headers += [(b"Cache-Control", b"max-age=9")] if "keep" in scope["path"] else []
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def body_of(sent: list[Message]) -> list[str]:
    found: list[str] = json.loads(sent[1]["body"])
    return found


@pytest.mark.parametrize(
    ("path", "clean"),
    [
        (f"{PREFIX}/v2/clusters/", f"{PREFIX}/v2/clusters"),
        (f"{PREFIX}/v2/clusters//default-config", f"{PREFIX}/v2/clusters/default-config"),
        (f"/{PREFIX}///v2/events//", f"{PREFIX}/v2/events"),
        (f"{PREFIX}/", PREFIX),
        (f"{PREFIX}/v2/clusters", f"{PREFIX}/v2/clusters"),
        ("/", "/"),
        ("/page/", "/page/"),
        ("//page", "//page"),
        (f"{PREFIX}er/x/", f"{PREFIX}er/x/"),
    ],
)
def test_paths(path: str, clean: str) -> None:
    assert normalise(path, PREFIX) == clean
    assert body_of(call(CleanPaths(echo, PREFIX), path))[0] == clean


def test_answers_carry_what_browsers_need_to_be_safe() -> None:
    headers = headers_of(call(SecureHeaders(echo, lambda: "made", PREFIX), f"{PREFIX}/v2/x"))
    assert headers["content-security-policy"].startswith("default-src 'self';")
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["strict-transport-security"].startswith("max-age=")
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert "server" not in {name.lower() for name in headers}


def test_what_a_handler_says_about_keeping_holds() -> None:
    app = SecureHeaders(echo, lambda: "made", PREFIX)
    headers = headers_of(call(app, f"{PREFIX}/keep"))
    assert headers["Cache-Control"] == "max-age=9"
    assert "cache-control" not in headers
    assert "cache-control" not in headers_of(call(app, "/page"))


@pytest.mark.parametrize("given", ["abc-123", "A.b_c", "x" * 64])
def test_a_request_keeps_its_name(given: str) -> None:
    sent = call(SecureHeaders(echo, lambda: "made", PREFIX), "/", {"X-Request-ID": given})
    assert headers_of(sent)["x-request-id"] == given
    assert body_of(sent)[1] == given


@pytest.mark.parametrize("given", ["", "a b", "x" * 65, "a\r\nb", "<script>", "ü"])
def test_a_request_without_a_usable_name_gets_one(given: str) -> None:
    sent = call(SecureHeaders(echo, lambda: "made", PREFIX), "/", {"X-Request-ID": given})
    assert headers_of(sent)["x-request-id"] == "made"
    assert body_of(sent)[1] == "made"


@pytest.mark.parametrize(
    ("host", "port", "where"),
    [
        ("example.com", 443, "https://example.com/a?b=1"),
        ("example.com:80", 8443, "https://example.com:8443/a?b=1"),
        ("192.0.2.1:8080", 443, "https://192.0.2.1/a?b=1"),
        ("[2001:db8::1]:80", 443, "https://[2001:db8::1]/a?b=1"),
    ],
)
def test_plain_http_only_says_where_to_go(host: str, port: int, where: str) -> None:
    sent = call(make_redirect(port), "/a", {"Host": host}, query_string=b"b=1")
    assert sent[0]["status"] == 308
    assert headers_of(sent)["location"] == where


@pytest.mark.parametrize(
    "host", ["", "a b", "evil.example.com/x", "user@example.com", "-x", "a:b:c", "x" * 300]
)
def test_no_way_without_a_host(host: str) -> None:
    assert call(make_redirect(443), "/a", {"Host": host})[0]["status"] == 400


def test_a_redirect_does_not_leave_the_host() -> None:
    sent = call(make_redirect(443), "//evil.example.org/x", {"Host": "example.com"})
    assert headers_of(sent)["location"] == "https://example.com/evil.example.org/x"


def test_errors_have_the_shapes_that_clients_know() -> None:
    assert json.loads(render_error(413, "too large")) == {
        "kind": "Error",
        "id": 413,
        "href": "",
        "code": "413",
        "reason": "too large",
    }
    for status in (401, 403):
        assert json.loads(render_error(status, "no")) == {"code": status, "message": "no"}
    assert (b"retry-after", b"2") in error_headers(429, 1.2)
    assert (b"retry-after", b"1") in error_headers(429, 0.001)
    assert (b"www-authenticate", b"Bearer") in error_headers(401)


def test_an_error_is_complete() -> None:
    async def refuse(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send_error(send, 418, "no")

    sent = call(refuse)
    assert headers_of(sent)["content-length"] == str(len(sent[1]["body"]))


def limit_of(operation: str) -> Limit:
    found = next(route for route in ROUTES if route.operation_id == operation)
    return next(each for each in LIMITS if each.path.search(found.path) and each.method in ("", found.method))


def test_only_logins_and_probes_have_rates_of_their_own_whoever_calls() -> None:
    found = {route.operation_id: limit_of(route.operation_id).rate for route in ROUTES}
    assert {name: rate for name, rate in found.items() if rate} == {
        "v2Login": "logins",
        "health": "probes",
        "ready": "probes",
    }


def test_only_logs_are_passed_on_as_they_come() -> None:
    streamed = {route.operation_id for route in ROUTES if limit_of(route.operation_id).is_streamed}
    assert streamed == {"V2UploadLogs", "V2DownloadClusterLogs"}
