# SPDX-License-Identifier: Apache-2.0
"""What is made of what web servers sent."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from muster.agent.steps.api_vip_connectivity_check import make_request, parse_authorities, parse_ignition
from muster.agent.steps.outcome import BadArguments
from muster.agent.steps.tang_connectivity_check import parse_advertisement, parse_servers
from muster.agent.steps.web import NotFetched, make_context
from muster.model.wire.reports import TangSignature
from muster.model.wire.steps import ApiVipConnectivityRequest, ApiVipRequestHeader


def ignition(**storage: Any) -> bytes:
    return json.dumps({"ignition": {"version": "3.2.0", "config": {}}, "storage": storage}).encode()


def test_only_what_matters_is_told_of_an_ignition() -> None:
    kept = {"path": "/etc/kubernetes/manifests/keepalived.yaml", "contents": {"source": "data:,x"}}
    luks = [{"name": "root", "clevis": {"tang": []}}]
    found = json.loads(
        parse_ignition(ignition(files=[kept, {"path": "/etc/shadow"}, 5], luks=luks, disks=[]))
    )
    assert found == {"ignition": {"version": "3.2.0"}, "storage": {"luks": luks, "files": [kept]}}
    assert json.loads(parse_ignition(b'{"ignition": {"version": "3.2.0"}}'))["storage"] == {}


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b"{}", b'{"ignition": {"version": 3}}', b"[" * 100_000]
)
def test_what_is_no_ignition(body: bytes) -> None:
    with pytest.raises(NotFetched, match="no Ignition") as caught:
        parse_ignition(body)
    assert len(str(caught.value)) < 600


def test_a_request_as_it_is_sent() -> None:
    request = ApiVipConnectivityRequest(
        url="http://10.0.0.1:22624/config/worker",
        ignition_endpoint_token="secret",
        request_headers=(ApiVipRequestHeader(key="X-Own", value="1"), ApiVipRequestHeader(value="lost")),
    )
    assert make_request(request).headers == {
        "Accept": "application/vnd.coreos.ignition+json; version=3.2.0",
        "X-Own": "1",
        "Authorization": "Bearer secret",
    }


def test_authorities() -> None:
    pem = "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n"
    assert parse_authorities(pem) == parse_authorities(base64.b64encode(pem.encode()).decode()) == pem
    assert parse_authorities("") == ""
    for text in ("%%%", base64.b64encode(b"\xff\xfe").decode()):
        with pytest.raises(NotFetched, match="certificate authority"):
            parse_authorities(text)
    for text in (pem, "no certificate at all"):
        with pytest.raises(NotFetched, match="certificate authority"):
            make_context(text)


def test_tang_servers() -> None:
    (server,) = parse_servers('[{"url": "http://tang", "thumbprint": "abc", "more": 1}]')
    assert (server.url, server.thumbprint) == ("http://tang", "abc")
    for text in ("", "{}", '[{"thumbprint": "abc"}]'):
        with pytest.raises(BadArguments):
            parse_servers(text)


def test_advertisements() -> None:
    signature = TangSignature(protected="x", signature="y")
    several = b'{"payload": "p", "signatures": [{"protected": "x", "signature": "y"}]}'
    single = b'{"payload": "p", "protected": "x", "signature": "y"}'
    for body in (several, single):
        found = parse_advertisement("http://tang", body)
        assert (found.tang_url, found.payload, found.signatures) == ("http://tang", "p", (signature,))
    for body in (b"", b"<html>", b"{}"):
        with pytest.raises(NotFetched, match="no advertisement"):
            parse_advertisement("http://tang", body)
