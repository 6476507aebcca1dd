# SPDX-License-Identifier: Apache-2.0
"""Logins and addresses are read as people write them, and told when they are wrong."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from muster.errors import MusterError, UserError
from muster.release.registry.access import Login, parse_basic, parse_htpasswd, render_challenge
from muster.serving.listen import Endpoint, load_certificate, parse_endpoint

HASH = "$2y$05$" + "a" * 53


def basic(text: str | bytes) -> str:
    data = text.encode() if isinstance(text, str) else text
    return f"Basic {base64.b64encode(data).decode()}"


def test_htpasswd() -> None:
    text = f"# people\n\nann:{HASH}\nbob:{HASH.replace('2y', '2b')}\n"
    assert list(parse_htpasswd(text, "users")) == ["ann", "bob"]


@pytest.mark.parametrize(
    "line",
    ["ann", f":{HASH}", "ann:secret", "ann:{SHA}abc", "ann:$apr1$x$y", f"ann:{HASH}x", f"ann:{HASH}:1"],
)
def test_what_is_no_bcrypt_hash(line: str) -> None:
    with pytest.raises(UserError, match=r"^users:2 is not a user with a bcrypt hash$"):
        parse_htpasswd(f"ok:{HASH}\n{line}\n", "users")


def test_nobody_may_come_in() -> None:
    with pytest.raises(UserError, match="names nobody"):
        parse_htpasswd("# nobody\n", "users")


@pytest.mark.parametrize(
    ("header", "login"),
    [
        (basic("ann:pass:word"), Login("ann", "pass:word")),
        (basic("ann:").replace("Basic", "basic"), Login("ann", "")),
        (basic("änn:pässword"), Login("änn", "pässword")),
        (basic("ann"), None),
        (basic(b"\xff:\xfe"), None),
        ("Basic not-base64!", None),
        ("Bearer abc", None),
        ("Basic", None),
        ("", None),
    ],
)
def test_basic_logins(header: str, login: Login | None) -> None:
    assert parse_basic(header) == login


def test_a_password_is_not_shown() -> None:
    assert "secret" not in repr(Login("ann", "secret"))


def test_the_challenge() -> None:
    assert render_challenge().status == 401
    assert ("WWW-Authenticate", 'Basic realm="muster registry"') in render_challenge().headers


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        ("127.0.0.1:5000", Endpoint("127.0.0.1", 5000)),
        ("[::1]:0", Endpoint("::1", 0)),
        (":5000", Endpoint("", 5000)),
        ("localhost:65535", Endpoint("localhost", 65535)),
    ],
)
def test_endpoints(text: str, endpoint: Endpoint) -> None:
    assert parse_endpoint(text) == endpoint


@pytest.mark.parametrize(
    "text", ["", "5000", "::1:5000", "127.0.0.1", "a:b", "a:65536", "a:-1", "a:5000000", "[::1]"]
)
def test_what_is_no_endpoint(text: str) -> None:
    with pytest.raises(UserError, match="no address to listen at"):
        parse_endpoint(text)


def test_certificates_that_are_none(tmp_path: Path) -> None:
    good = tmp_path / "some.pem"
    good.write_text("nothing\n")
    with pytest.raises(MusterError, match=r"cannot read .*no\.pem"):
        load_certificate(tmp_path / "no.pem", good)
    with pytest.raises(UserError, match="are no certificate and its key"):
        load_certificate(good, good)
