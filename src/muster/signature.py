# SPDX-License-Identifier: Apache-2.0
"""Detached signatures over checksum files, as `openssl` makes and verifies them."""

from __future__ import annotations

import hashlib
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from muster.errors import UserError, cannot

PrivateKey = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey
PublicKey = ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey | rsa.RSAPublicKey


def load_signing_key(path: Path) -> PrivateKey:
    """A private key (PEM) to sign with."""
    try:
        key = load_pem_private_key(_read(path), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise _not_a_key(path, "private") from error
    if not isinstance(key, PrivateKey):
        raise _not_a_key(path, "private")
    return key


def load_public_key(path: Path) -> PublicKey:
    """A public key (PEM) to verify with."""
    return parse_public_key(_read(path), path)


def parse_public_key(data: bytes, origin: Path) -> PublicKey:
    """A public key (PEM) that was read from a file."""
    try:
        key = load_pem_public_key(data)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise _not_a_key(origin, "public") from error
    if not isinstance(key, PublicKey):
        raise _not_a_key(origin, "public")
    return key


def render_public_key(key: PublicKey) -> str:
    """The key in PEM form, the same text for the same key."""
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode("ascii")


def fingerprint(key: PublicKey) -> str:
    """By what people tell keys apart: `openssl pkey -pubin -in FILE -outform DER | sha256sum`."""
    data = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def sign(key: PrivateKey, data: bytes) -> bytes:
    """The signature; the same for the same data, so that media stay reproducible."""
    match key:
        case ec.EllipticCurvePrivateKey():
            return key.sign(data, ec.ECDSA(hashes.SHA256(), deterministic_signing=True))
        case ed25519.Ed25519PrivateKey():
            return key.sign(data)
        case rsa.RSAPrivateKey():
            return key.sign(data, padding.PKCS1v15(), hashes.SHA256())


def is_signed_by(key: PublicKey, data: bytes, signature: bytes) -> bool:
    """Whether the signature is that of the key's owner over the data."""
    try:
        match key:
            case ec.EllipticCurvePublicKey():
                key.verify(signature, data, ec.ECDSA(hashes.SHA256()))
            case ed25519.Ed25519PublicKey():
                key.verify(signature, data)
            case rsa.RSAPublicKey():
                key.verify(signature, data, padding.PKCS1v15(), hashes.SHA256())
    except InvalidSignature:
        return False
    return True


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise cannot("read", path, error) from error


def _not_a_key(path: Path, kind: str) -> UserError:
    how = {
        "private": "openssl genpkey -algorithm ed25519 -out sign.key",
        "public": "openssl pkey -in sign.key -pubout -out sign.pub",
    }
    return UserError(
        f"{path} is not a {kind} key in PEM form, without a password, of kind Ed25519, ECDSA or RSA",
        hint=f"make one with `{how[kind]}`",
    )
