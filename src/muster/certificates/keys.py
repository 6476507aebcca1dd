# SPDX-License-Identifier: Apache-2.0
"""Private keys: made from randomness that is passed in, and written as PKCS#8, which every reader takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from muster.model.pki import Curve, KeyAlgorithm, KeySpec

Random: TypeAlias = Callable[[int], bytes]
"""Gives so many random bytes, like os.urandom."""
PrivateKey: TypeAlias = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey
PublicKey: TypeAlias = rsa.RSAPublicKey | ec.EllipticCurvePublicKey

P256: Final = KeySpec()
_EXPONENT: Final = 65537
_CURVES: Final[dict[Curve, ec.EllipticCurve]] = {
    Curve.P256: ec.SECP256R1(),
    Curve.P384: ec.SECP384R1(),
    Curve.P521: ec.SECP521R1(),
}
Hash: TypeAlias = hashes.SHA256 | hashes.SHA384 | hashes.SHA512
_HASHES: Final[dict[str, Hash]] = {
    "secp256r1": hashes.SHA256(),
    "secp384r1": hashes.SHA384(),
    "secp521r1": hashes.SHA512(),
}


def make_key(spec: KeySpec, random: Random) -> PrivateKey:
    """A new key. An ECDSA key follows from the random bytes alone; an RSA key brings its own randomness."""
    if spec.algorithm is KeyAlgorithm.RSA:
        return rsa.generate_private_key(_EXPONENT, spec.bits)
    curve = _CURVES[spec.curve]
    order = curve.group_order
    # 64 bits more than the order has: what the remainder prefers is then too little to be of use to anybody
    # (FIPS 186-5, A.2.1).
    seed = int.from_bytes(random((order.bit_length() + 7) // 8 + 8), "big")
    return ec.derive_private_key(seed % (order - 1) + 1, curve)


def render_key(key: PrivateKey) -> str:
    """A private key as PEM."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode("ascii")


def parse_key(text: str) -> PrivateKey | None:
    """The private key that a PEM text holds, or None."""
    try:
        found = load_pem_private_key(text.encode("ascii"), None)
    except (ValueError, TypeError, UnicodeError):
        return None
    if isinstance(found, ec.EllipticCurvePrivateKey):
        return found if found.curve.name in _HASHES else None
    return found if isinstance(found, rsa.RSAPrivateKey) else None


def spec_of(key: PrivateKey) -> KeySpec:
    """What kind of key this is."""
    if isinstance(key, rsa.RSAPrivateKey):
        return KeySpec(KeyAlgorithm.RSA, bits=key.key_size)
    curve = next(curve for curve, each in _CURVES.items() if each.name == key.curve.name)
    return KeySpec(KeyAlgorithm.ECDSA, curve=curve)


def public_der(key: PublicKey) -> bytes:
    """A public key as the bytes that certificates hold."""
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def public_pem(key: PublicKey) -> str:
    """A public key as PEM."""
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode("ascii")


def signature_hash(key: PrivateKey) -> Hash:
    """The hash that signatures of a key are made over: as strong as its curve."""
    return _HASHES[key.curve.name] if isinstance(key, ec.EllipticCurvePrivateKey) else hashes.SHA256()
