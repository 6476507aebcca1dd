# SPDX-License-Identifier: Apache-2.0
"""Proof that a host has the key that it is bound to: the signature of a challenge, good for a minute."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from datetime import datetime
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from muster.model.host_key import KEY_BYTES, decode, signed_text

VALID_S: Final = 60
_SIGNATURE_BYTES: Final = 64
_MOST: Final = 128


class Challenges:
    """Makes challenges and recognises them; nothing is remembered, so that any replica can check them."""

    def __init__(self, signing: EllipticCurvePrivateKey, clock: Callable[[], datetime]) -> None:
        secret = signing.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
        self._key = hashlib.sha256(b"muster host challenges\n" + secret).digest()
        self._clock = clock

    def make(self, infra_env_id: str, host_id: str) -> str:
        """A challenge for one host."""
        until = str(int(self._clock().timestamp()) + VALID_S)
        return f"{until}.{self._sign(until, infra_env_id, host_id)}"

    def is_proof(self, key: str, infra_env_id: str, host_id: str, signed: tuple[str, str]) -> bool:
        """Whether a challenge of ours was signed with a key: `signed` is the challenge and the signature."""
        challenge, proof = signed
        until, _, mac = challenge[:_MOST].partition(".")
        if not until.isascii() or not until.isdigit() or int(until) < self._clock().timestamp():
            return False
        if not hmac.compare_digest(mac.encode(), self._sign(until, infra_env_id, host_id).encode()):
            return False
        return _is_signed(key, proof, signed_text(infra_env_id, host_id, challenge))

    def _sign(self, until: str, infra_env_id: str, host_id: str) -> str:
        text = f"{until}\n{infra_env_id}\n{host_id}".encode()
        return hmac.new(self._key, text, hashlib.sha256).hexdigest()


def _is_signed(key: str, proof: str, text: bytes) -> bool:
    public, signature = decode(key, KEY_BYTES), decode(proof, _SIGNATURE_BYTES)
    if public is None or signature is None:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, text)
    except (InvalidSignature, ValueError):
        return False
    return True
