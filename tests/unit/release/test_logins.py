# SPDX-License-Identifier: Apache-2.0
"""Pull secrets: the longest scope decides, and no secret shows."""

from __future__ import annotations

import base64
import json

import pytest

from muster.errors import UserError
from muster.release.oci.logins import Logins, parse_logins


def encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def secret(**auths: str) -> str:
    return json.dumps({"auths": {name: {"auth": encode(login)} for name, login in auths.items()}})


def user_for(logins: Logins, name: str) -> str:
    login = logins.find(name)
    return login.user if login else ""


@pytest.mark.parametrize(
    ("name", "user"),
    [
        ("r.example.com/a", "host"),
        ("r.example.com/ns/a", "namespace"),
        ("r.example.com/ns/a/b", "repository"),
        ("r.example.com/ns/a/b/c", "repository"),
        ("r.example.com/nsx/a", "host"),
        ("r.example.com:5000/a", "port"),
        ("[2001:db8::1]:5000/a", "six"),
        ("other.example.com/a", ""),
        ("old.example.com/any/thing", "old"),
        ("both.example.com/a", "new"),
    ],
)
def test_the_longest_scope_wins(name: str, user: str) -> None:
    logins = parse_logins(
        secret(
            **{
                "r.example.com/ns": "namespace:1",
                "r.example.com": "host:1",
                "r.example.com/ns/a/b": "repository:1",
                "r.example.com:5000": "port:1",
                "[2001:db8::1]:5000": "six:1",
                "https://old.example.com/v1/": "old:1",
                "both.example.com": "new:1",
                "https://both.example.com": "old:1",
            }
        )
    )
    assert user_for(logins, name) == user


def test_a_password_may_hold_anything() -> None:
    login = parse_logins(secret(**{"r.example.com": "me:a:b c ü"})).find("r.example.com/a")
    assert login is not None
    assert (login.user, login.password) == ("me", "a:b c ü")
    assert base64.b64decode(login.basic.removeprefix("Basic ")).decode() == "me:a:b c ü"
    assert "a:b" not in repr(login)


def test_tokens_of_a_login_with_a_device() -> None:
    text = json.dumps({"auths": {"r.example.com": {"auth": encode("00000000:"), "identitytoken": "refresh"}}})
    login = parse_logins(text).find("r.example.com/a")
    assert login is not None
    assert login.identity_token == "refresh"
    assert "refresh" not in repr(login)


def test_what_is_no_login_is_left_out() -> None:
    entries = {
        "a.example.com": {"auth": "hunter2"},
        "b.example.com": {"auth": encode("no colon")},
        "c.example.com": {"username": "a", "password": "b"},
        "d.example.com": "hunter2",
        "e.example.com": {"auth": ["hunter2"]},
        "": {"auth": encode("a:b")},
    }
    assert not parse_logins(json.dumps({"auths": entries})).by_scope


def test_two_pull_secrets() -> None:
    one = parse_logins(secret(**{"a.example.com": "one:1", "b.example.com": "one:1"}))
    both = one.add(parse_logins(secret(**{"b.example.com": "two:1"})))
    assert [user_for(both, f"{name}.example.com/x") for name in "ab"] == ["one", "two"]


@pytest.mark.parametrize("text", ["", "hunter2", '"hunter2"', "[]", '{"auths": {}}', '{"auths": "hunter2"}'])
def test_what_is_no_pull_secret(text: str) -> None:
    with pytest.raises(UserError, match="the pull secret cannot be read") as caught:
        parse_logins(text)
    assert "hunter2" not in str(caught.value) + caught.value.hint
