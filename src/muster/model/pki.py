# SPDX-License-Identifier: Apache-2.0
"""Which keys the certificate authorities of a cluster get."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from muster.frozen import dataclass
from muster.model.schema import Complain, Leaf, Model, nested, value
from muster.model.tree import Scalar
from muster.model.values import choice, number

_WHY: Final = "Shorter keys are not safe, longer ones slow down every connection."
_SPAN: Final = number(2048, 8192, why=_WHY)


class KeyAlgorithm(StrEnum):
    """How a key works."""

    RSA = "RSA"
    ECDSA = "ECDSA"


class Curve(StrEnum):
    """NIST curve of an ECDSA key."""

    P256 = "P256"
    P384 = "P384"
    P521 = "P521"


def _parse_key_size(node: Scalar, complain: Complain) -> int | None:
    size = _SPAN.parse(node, complain)
    if size is not None and size % 1024:
        complain("out-of-range", range="a multiple of 1024", reason="Other sizes are not supported.")
        return None
    return size


KEY_SIZE: Final = Leaf(
    "multiple of 1024 between 2048 and 8192", {**_SPAN.json, "multipleOf": 1024}, _parse_key_size
)


class RSAKey(Model):
    """An RSA key."""

    key_size: int | None = value(KEY_SIZE, "Length of the key in bits.", required=True, example="4096")


class ECDSAKey(Model):
    """A key on an elliptic curve."""

    curve: Curve | None = value(choice(Curve), "Curve of the key.", required=True, example="P384")


class Key(Model):
    """A key pair; the field named like its algorithm describes it."""

    algorithm: KeyAlgorithm | None = value(
        choice(KeyAlgorithm), "Algorithm of the key.", required=True, example="ECDSA"
    )
    rsa: RSAKey | None = value(nested(RSAKey), "The key's size; only with algorithm RSA.")
    ecdsa: ECDSAKey | None = value(nested(ECDSAKey), "The key's curve; only with algorithm ECDSA.")


class SignerCertificates(Model):
    """All certificate authorities that the installation creates."""

    key: Key | None = value(nested(Key), "Key pair of each authority.", required=True)


class PKI(Model):
    """Keys of the cluster's certificates; needs the feature gate ConfigurablePKI."""

    signer_certificates: SignerCertificates | None = value(
        nested(SignerCertificates), "Certificate authorities that the installation creates.", required=True
    )


@dataclass(frozen=True)
class KeySpec:
    """A key pair as it will be made: an RSA key of so many bits, or an ECDSA key on a curve."""

    algorithm: KeyAlgorithm = KeyAlgorithm.ECDSA
    bits: int = 0
    curve: Curve = Curve.P256

    def __str__(self) -> str:
        return f"RSA {self.bits}" if self.algorithm is KeyAlgorithm.RSA else f"ECDSA {self.curve}"
