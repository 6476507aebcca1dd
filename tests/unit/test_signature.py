# SPDX-License-Identifier: Apache-2.0
"""Detached signatures."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from muster.errors import UserError
from muster.signature import PrivateKey, is_signed_by, load_public_key, load_signing_key, sign

KEYS = [
    ec.generate_private_key(ec.SECP256R1()),
    ed25519.Ed25519PrivateKey.generate(),
    rsa.generate_private_key(65537, 2048),
]


@pytest.mark.parametrize("key", KEYS, ids=lambda key: type(key).__name__)
def test_a_signature_holds_for_its_data_and_key_alone(key: PrivateKey, tmp_path: Path) -> None:
    private, public = tmp_path / "key", tmp_path / "pub"
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    signature = sign(load_signing_key(private), b"data")
    assert signature == sign(key, b"data")
    assert is_signed_by(load_public_key(public), b"data", signature)
    assert not is_signed_by(load_public_key(public), b"Data", signature)
    assert not is_signed_by(ed25519.Ed25519PrivateKey.generate().public_key(), b"data", signature)


@pytest.mark.parametrize("load", [load_signing_key, load_public_key])
def test_what_is_no_key_is_refused(load: object, tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text("hello")
    assert callable(load)
    with pytest.raises(UserError, match="is not a p"):
        load(path)
