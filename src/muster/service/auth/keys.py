# SPDX-License-Identifier: Apache-2.0
"""The keys that tokens are signed with and verified by.

One key signs. Those that signed before it are still accepted until the tokens that they signed have expired,
and so are the public keys of others, such as that of an image that `openshift-install agent` made.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64decode
from collections.abc import Iterable
from dataclasses import field
from pathlib import Path
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from muster.certificates.keys import P256, Random, make_key, parse_key, public_der, render_key
from muster.errors import UserError
from muster.frozen import dataclass
from muster.service.auth.keyfile import load_or_make, replace_key_file

_BLOCK: Final = re.compile(rb"-----BEGIN [A-Z ]+-----.*?-----END [A-Z ]+-----", re.DOTALL)
KEY_FILE: Final = "tokens.pem"


@dataclass(frozen=True)
class KeyRing:
    """The key that signs, and the public keys that are accepted."""

    signing: ec.EllipticCurvePrivateKey = field(repr=False)
    own: dict[str, ec.EllipticCurvePublicKey]
    """By key id; that of the signing key and of those before it."""
    foreign: tuple[ec.EllipticCurvePublicKey, ...] = ()

    @property
    def signing_id(self) -> str:
        return key_id(self.signing.public_key())


def load_key_ring(folder: Path, random: Random, foreign: Iterable[str] = ()) -> KeyRing:
    """The keys of a service; on its first start they are made."""
    path = folder / KEY_FILE
    keys = parse_key_file(load_or_make(path, lambda: _new_key(random)), path)
    return make_key_ring(keys, foreign)


def rotate_key_ring(folder: Path, random: Random, *, keep: int = 1) -> KeyRing:
    """Sign with a new key from now on; the last `keep` keys stay accepted."""
    path = folder / KEY_FILE
    old = parse_key_file(load_or_make(path, lambda: _new_key(random)), path)
    kept = [render_key(key).encode("ascii") for key in old[:keep]]
    data = b"".join([_new_key(random), *kept])
    replace_key_file(path, data)
    return make_key_ring(parse_key_file(data, path))


def make_key_ring(keys: list[ec.EllipticCurvePrivateKey], foreign: Iterable[str] = ()) -> KeyRing:
    """The first key signs; all are accepted."""
    own = {key_id(key.public_key()): key.public_key() for key in keys}
    return KeyRing(keys[0], own, tuple(parse_public_key(text) for text in foreign))


def parse_key_file(data: bytes, path: Path) -> list[ec.EllipticCurvePrivateKey]:
    """The private keys in a file, newest first."""
    keys = [parse_key(block.decode("ascii", "replace")) for block in _BLOCK.findall(data)]
    good = [key for key in keys if isinstance(key, ec.EllipticCurvePrivateKey) and _is_p256(key.curve)]
    if not good or len(good) != len(keys):
        raise UserError(
            f"{path} does not hold the private keys (PEM, curve P-256) that tokens are signed with",
            hint="restore it from a backup, or remove it: a new key is made, and old tokens are worthless",
        )
    return good


def parse_public_key(text: str) -> ec.EllipticCurvePublicKey:
    """A public key as PEM, or as base64 of that, which is how the installer passes it on."""
    data = text.strip().encode()
    if not data.startswith(b"-----"):
        try:
            data = b64decode(data, validate=True)
        except ValueError as error:
            raise _not_a_key() from error
    # The installer writes a name over its keys that no reader but its own knows.
    data = data.replace(b" EC PUBLIC KEY-----", b" PUBLIC KEY-----")
    try:
        key = load_pem_public_key(data)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise _not_a_key() from error
    if not isinstance(key, ec.EllipticCurvePublicKey) or not _is_p256(key.curve):
        raise _not_a_key()
    return key


def key_id(key: ec.EllipticCurvePublicKey) -> str:
    """A short name of a key, which tokens carry to say who signed them."""
    return hashlib.sha256(public_der(key)).hexdigest()[:16]


def _new_key(random: Random) -> bytes:
    return render_key(make_key(P256, random)).encode("ascii")


def _is_p256(curve: ec.EllipticCurve) -> bool:
    return isinstance(curve, ec.SECP256R1)


def _not_a_key() -> UserError:
    return UserError(
        "the public key for tokens of others is not an ECDSA key on the curve P-256",
        hint="give it as PEM, or as base64 of the PEM text",
    )
