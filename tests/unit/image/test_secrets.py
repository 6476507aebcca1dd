# SPDX-License-Identifier: Apache-2.0
"""Secrets are made once, kept whole, and refused when they are not."""

from __future__ import annotations

import base64
import json
import os
import re
from collections import Counter
from datetime import timedelta
from typing import Any

import bcrypt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from muster.certificates.keys import make_key, parse_key, render_key, spec_of
from muster.errors import UserError
from muster.image.secrets import (
    SIGNERS,
    KeyName,
    check_spec,
    dump_secrets,
    make_secrets,
    parse_secrets,
    renew_tokens,
)
from muster.model.pki import Curve, KeyAlgorithm, KeySpec
from tests.seeds import NOW, fixed_secrets, seeded


def test_the_same_randomness_gives_the_same_secrets() -> None:
    assert fixed_secrets() == fixed_secrets()
    assert fixed_secrets("a") != fixed_secrets("b")


def test_no_two_values_are_the_same() -> None:
    secrets = fixed_secrets()
    assert len(set(secrets.keys.values())) == len(KeyName)
    assert secrets.cluster_id != secrets.infra_env_id


def test_forms() -> None:
    secrets = make_secrets(os.urandom, NOW)
    assert re.fullmatch(r"[^lO01-]{5}(-[^lO01-]{5}){3}", secrets.kubeadmin_password)
    assert len(secrets.kubeadmin_password) == 23
    assert re.fullmatch(r"[b-z2-9]{5}", secrets.infra_id_suffix)
    hashed = secrets.kubeadmin_password_hash
    assert hashed.startswith("$2a$04$")
    assert bcrypt.checkpw(secrets.kubeadmin_password.encode(), hashed.encode())
    assert all(text.startswith("-----BEGIN PRIVATE KEY-----\n") for text in secrets.keys.values())


def test_letters_of_passwords_are_equally_likely() -> None:
    random = seeded("letters")
    count = Counter("".join(make_secrets(random, NOW).kubeadmin_password for _ in range(100)))
    del count["-"]
    assert len(count) == 58
    assert max(count.values()) < 4 * min(count.values()) + 20


def test_kept_and_read_again() -> None:
    secrets = fixed_secrets()
    assert parse_secrets(json.loads(json.dumps(dump_secrets(secrets))), "there") == secrets


def test_nothing_shows_in_a_repr() -> None:
    secrets = fixed_secrets()
    shown = repr(secrets)
    assert secrets.kubeadmin_password not in shown
    assert secrets.kubeadmin_password_hash not in shown
    assert "PRIVATE" not in shown


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"version": 2}, "version 2"),
        ({"extra": 1}, "extra is not known"),
        ({"created": None}, "created does not have its form"),
        ({"created": "yesterday"}, "created is no time"),
        ({"cluster_id": "x"}, "cluster_id"),
        ({"cluster_id": 7}, "cluster_id"),
        ({"infra_id_suffix": "aaaaa"}, "infra_id_suffix"),
        ({"kubeadmin_password": "short"}, "kubeadmin_password"),
        ({"kubeadmin_password": "aaaaa-aaaaa-aaaaa-aaaaa"}, "that of another password"),
        ({"kubeadmin_password_hash": "$2a$04$x"}, "kubeadmin_password_hash"),
        ({"kubeadmin_password_hash": f"$2a$00${'.' * 53}"}, "kubeadmin_password_hash does not have its form"),
        ({"kubeadmin_password_hash": f"$2a$13${'.' * 53}"}, "kubeadmin_password_hash does not have its form"),
        ({"kubeadmin_password_hash": f"$2a$31${'.' * 53}"}, "kubeadmin_password_hash does not have its form"),
        ({"kubeadmin_password_hash": f"$2a$99${'.' * 53}"}, "kubeadmin_password_hash does not have its form"),
        ({"kubeadmin_password_hash": f"$2a$04${'z' * 53}"}, "kubeadmin_password_hash does not have its form"),
        ({"created": "9999-12-31T23:59:59Z"}, "created is not between 2000 and 2100"),
        ({"created": "1800-01-01T00:00:00Z"}, "created is not between 2000 and 2100"),
        ({"tokens_issued": "9999-01-01T00:00:00Z"}, "tokens_issued is not between 2000 and 2100"),
        ({"keys": {}}, "not complete"),
        ({"keys": []}, "not complete"),
    ],
)
def test_garbage_is_refused(change: dict[str, Any], said: str) -> None:
    body = dump_secrets(fixed_secrets()) | change
    with pytest.raises(UserError, match=re.escape(said)) as caught:
        parse_secrets(body, "site1/.muster_state.json")
    assert "site1/.muster_state.json" in caught.value.message
    assert "new cluster" in caught.value.hint
    assert fixed_secrets().kubeadmin_password not in caught.value.message


def test_a_missing_part_and_a_broken_key_are_named() -> None:
    body: dict[str, Any] = dump_secrets(fixed_secrets())
    with pytest.raises(UserError, match="infra_env_id is missing"):
        parse_secrets({key: value for key, value in body.items() if key != "infra_env_id"}, "there")
    with pytest.raises(UserError, match="the key tokens is not a private key"):
        parse_secrets(body | {"keys": body["keys"] | {"tokens": "x"}}, "there")
    with pytest.raises(UserError, match="not a mapping"):
        parse_secrets([], "there")


@pytest.mark.parametrize("name", [name for name in KeyName if name not in SIGNERS])
def test_keys_of_another_kind_are_refused(name: KeyName) -> None:
    body: dict[str, Any] = dump_secrets(fixed_secrets())
    for spec in (KeySpec(curve=Curve.P384), KeySpec(KeyAlgorithm.RSA, bits=2048)):
        key = render_key(make_key(spec, seeded("key")))
        with pytest.raises(UserError, match=f"the key {name} is not one on the curve P-256"):
            parse_secrets(body | {"keys": body["keys"] | {str(name): key}}, "there")


def test_a_key_that_nobody_knows_is_refused() -> None:
    key = ec.derive_private_key(5, ec.SECP224R1())
    der = key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    secp224k1 = der.replace(bytes.fromhex("06052b81040021"), bytes.fromhex("06052b81040020"))
    text = base64.b64encode(secp224k1).decode()
    pem = f"-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n"
    body: dict[str, Any] = dump_secrets(fixed_secrets())
    for name in ("tokens", "ingress-signer"):
        with pytest.raises(UserError, match=f"the key {name} is not a private key"):
            parse_secrets(body | {"keys": body["keys"] | {name: pem}}, "there")


@pytest.mark.parametrize("curve", list(Curve))
def test_keys_on_every_curve(curve: Curve) -> None:
    spec = KeySpec(KeyAlgorithm.ECDSA, curve=curve)
    key = make_key(spec, seeded("key"))
    assert spec_of(key) == spec
    again = parse_key(render_key(key))
    assert again is not None
    assert render_key(again) == render_key(make_key(spec, seeded("key")))


def test_the_signers_have_the_keys_that_are_asked_for() -> None:
    rsa = KeySpec(KeyAlgorithm.RSA, bits=2048)
    secrets = make_secrets(os.urandom, NOW, rsa)
    assert secrets.signer_spec == rsa
    assert spec_of(secrets.private[KeyName.INGRESS_SIGNER]) == rsa
    assert spec_of(secrets.private[KeyName.ADMIN_CLIENT]) == KeySpec()
    check_spec(secrets, rsa, "there")
    with pytest.raises(
        UserError, match=re.escape("have RSA 2048 keys, and install-config.yaml asks for ECDSA P256")
    ):
        check_spec(secrets, KeySpec(), "there")


def test_renewed_tokens_change_nothing_else() -> None:
    secrets = fixed_secrets()
    renewed = renew_tokens(secrets, NOW + timedelta(days=30))
    assert renewed.tokens_issued == NOW + timedelta(days=30)
    assert {**dump_secrets(renewed), "tokens_issued": ""} == {**dump_secrets(secrets), "tokens_issued": ""}
