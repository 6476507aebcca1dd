# SPDX-License-Identifier: Apache-2.0
"""Addresses let in whom they should, as long as they should."""

from __future__ import annotations

import base64
import json
from datetime import timedelta

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from muster.service.media.order import Kind
from muster.service.media.paths import parse_target
from muster.service.media.signing import VALID_FOR, AddressRefused, Place, Reason, Signer
from tests.discovery import INFRA_ENV, NOW, OTHER, Now

KEY = ec.derive_private_key(7, ec.SECP256R1())


@pytest.fixture
def now() -> Now:
    return Now()


@pytest.fixture
def signer(now: Now) -> Signer:
    return Signer(KEY, now)


def reason(signer: Signer, token: str, key_id: str | None = "key-1") -> Reason:
    with pytest.raises(AddressRefused) as caught:
        signer.check(token, lambda _: key_id)
    assert not token or token not in caught.value.message
    assert caught.value.hint
    return caught.value.reason


def test_a_fresh_token(signer: Signer, now: Now) -> None:
    token, ends = signer.sign(INFRA_ENV, "key-1")
    assert ends == NOW + timedelta(hours=4)
    assert jwt.get_unverified_header(token)["alg"] == "ES256"
    assert signer.check(token, {INFRA_ENV: "key-1"}.get) == INFRA_ENV
    now.pass_by(VALID_FOR - timedelta(seconds=1))
    assert signer.check(token, {INFRA_ENV: "key-1"}.get) == INFRA_ENV


def test_it_ends(signer: Signer, now: Now) -> None:
    token, _ = signer.sign(INFRA_ENV, "key-1")
    now.pass_by(VALID_FOR)
    assert reason(signer, token) is Reason.EXPIRED


def test_a_new_key_ends_it_at_once(signer: Signer) -> None:
    token, _ = signer.sign(INFRA_ENV, "key-1")
    assert reason(signer, token, "key-2") is Reason.REVOKED
    assert reason(signer, token, None) is Reason.REVOKED


def test_what_was_changed(signer: Signer) -> None:
    token, _ = signer.sign(INFRA_ENV, "key-1")
    head, body, mark = token.split(".")
    claims = json.loads(base64.urlsafe_b64decode(body + "=="))
    claims["sub"] = OTHER
    other = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    flipped = mark[:-3] + ("A" if mark[-3] != "A" else "B") + mark[-2:]
    for wrong in (
        f"{head}.{other}.{mark}",
        f"{head}.{body}.{flipped}",
        f"{head}.{body}.",
        "",
        "a.b.c",
        "é.é.é",
    ):
        assert reason(signer, wrong) is Reason.FORGED


@pytest.mark.parametrize("algorithm", ["none", "HS256"])
def test_other_algorithms(signer: Signer, algorithm: str) -> None:
    claims = {"sub": INFRA_ENV, "exp": 1 << 40, "aud": "muster-media", "key_id": "key-1"}
    key = "x" * 32 if algorithm == "HS256" else ""
    assert reason(signer, jwt.encode(claims, key, algorithm)) is Reason.FORGED


@pytest.mark.parametrize("missing", ["sub", "exp", "aud", "key_id"])
def test_tokens_that_say_too_little(signer: Signer, missing: str) -> None:
    claims = {"sub": INFRA_ENV, "exp": 1 << 40, "aud": "muster-media", "key_id": "key-1"}
    del claims[missing]
    assert reason(signer, jwt.encode(claims, KEY, "ES256")) is Reason.FORGED


def test_tokens_for_something_else(signer: Signer) -> None:
    claims = {"sub": INFRA_ENV, "exp": 1 << 40, "aud": "agents", "key_id": "key-1"}
    assert reason(signer, jwt.encode(claims, KEY, "ES256")) is Reason.FORGED
    assert (
        reason(signer, jwt.encode({**claims, "aud": "muster-media", "exp": "soon"}, KEY, "ES256")) in Reason
    )


def test_another_key(signer: Signer, now: Now) -> None:
    token, _ = Signer(ec.derive_private_key(8, ec.SECP256R1()), now).sign(INFRA_ENV, "key-1")
    assert reason(signer, token) is Reason.FORGED


def test_only_keys_of_one_curve(now: Now) -> None:
    with pytest.raises(TypeError):
        Signer(ec.derive_private_key(8, ec.SECP384R1()), now)


@pytest.mark.parametrize("version", ["", "4.19", "4.20/odd version"])
def test_addresses_are_understood(signer: Signer, version: str) -> None:
    place = Place(INFRA_ENV, Kind.MINIMAL, version, "arm64")
    signed = signer.address("http://service.example.com:8091/", place, "key-1")
    from urllib.parse import unquote, urlsplit

    path = urlsplit(signed.url).path
    assert len(path.split("/")) == 6
    if "/" not in version:
        target = parse_target(unquote(path), {})
        assert target is not None
        assert (target.kind, target.version, target.architecture) == (Kind.MINIMAL, version, "aarch64")
        assert signer.check(target.token, {INFRA_ENV: "key-1"}.get) == INFRA_ENV
