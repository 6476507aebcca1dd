# SPDX-License-Identifier: Apache-2.0
"""Certificates: authorities, and what they sign. The same keys, names and dates give the same bytes.

The texts in names have the types that Go gives to them: a client written in Go finds the authority of a
certificate by comparing names byte by byte.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Sequence
from dataclasses import field
from datetime import datetime, timedelta
from functools import lru_cache
from ipaddress import ip_address
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.name import _ASN1Type
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

from muster.certificates.keys import PrivateKey, public_der, signature_hash
from muster.frozen import dataclass

TEN_YEARS: Final = timedelta(days=3650)
TWO_YEARS: Final = timedelta(days=730)
SERVER: Final = ExtendedKeyUsageOID.SERVER_AUTH
CLIENT: Final = ExtendedKeyUsageOID.CLIENT_AUTH
_PRINTABLE: Final = re.compile(r"[A-Za-z0-9 '()+,./:=?-]*\Z")


@dataclass(frozen=True)
class Authority:
    """A certificate that signs others, and the key that it does so with."""

    certificate: x509.Certificate
    key: PrivateKey = field(repr=False)

    @property
    def pem(self) -> str:
        return render_certificate(self.certificate)


@dataclass(frozen=True)
class Term:
    """How long a certificate holds, and whose it is: serial numbers differ between clusters."""

    cluster_id: str
    start: datetime
    length: timedelta


@dataclass(frozen=True)
class Wish:
    """A certificate that somebody wants to have: who, with which key, for what, and at which addresses."""

    subject: x509.Name
    key: PrivateKey = field(repr=False)
    uses: tuple[ObjectIdentifier, ...]
    names: tuple[str, ...] = ()
    """Host names and addresses; none for one who only calls others."""


def make_authority(subject: x509.Name, key: PrivateKey, term: Term) -> Authority:
    """An authority that nobody stands above."""
    builder = _begin(subject, subject, key, term)
    builder = builder.add_extension(_usage(key, signs=True), critical=True)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    return Authority(_sign(builder.add_extension(_key_id(key), critical=False), key), key)


def issue(authority: Authority, wish: Wish, term: Term) -> x509.Certificate:
    """A certificate that signs no others."""
    builder = _begin(wish.subject, authority.certificate.subject, wish.key, term)
    builder = _add_uses(builder, wish.key, wish.uses, authority)
    if wish.names:
        alternatives = x509.SubjectAlternativeName([_alternative(name) for name in wish.names])
        builder = builder.add_extension(alternatives, critical=False)
    return _sign(builder, authority.key)


def render_certificate(certificate: x509.Certificate) -> str:
    """A certificate as PEM."""
    return certificate.public_bytes(Encoding.PEM).decode("ascii")


def common_name(name: str) -> x509.Name:
    """A name without anything else."""
    return make_name((NameOID.COMMON_NAME, name))


@lru_cache(maxsize=64)
def make_name(*parts: tuple[ObjectIdentifier, str]) -> x509.Name:
    """A name whose texts have the types that Go chooses: printable when it can be, else UTF-8."""
    # The standard wants common names of up to 64 characters; a kubelet's may be longer, and Go does not mind.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return x509.Name(
            [x509.NameAttribute(which, text, _type=_type_of(text), _validate=False) for which, text in parts]
        )


def _begin(subject: x509.Name, issuer: x509.Name, key: PrivateKey, term: Term) -> x509.CertificateBuilder:
    public = key.public_key()
    seed = term.cluster_id.encode() + subject.public_bytes() + public_der(public)
    serial = int.from_bytes(hashlib.sha256(seed).digest()[:16], "big") >> 1 or 1
    return x509.CertificateBuilder(issuer, subject, public, serial, term.start, term.start + term.length)


def _add_uses(
    builder: x509.CertificateBuilder, key: PrivateKey, uses: Sequence[ObjectIdentifier], authority: Authority
) -> x509.CertificateBuilder:
    issuer = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(_key_id(authority.key))
    return (
        builder.add_extension(_usage(key, signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(uses), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_id(key), critical=False)
        .add_extension(issuer, critical=False)
    )


def _sign(builder: x509.CertificateBuilder, key: PrivateKey) -> x509.Certificate:
    deterministic = True if isinstance(key, ec.EllipticCurvePrivateKey) else None
    return builder.sign(key, signature_hash(key), ecdsa_deterministic=deterministic)


def _usage(key: PrivateKey, *, signs: bool) -> x509.KeyUsage:
    """What a key may do; only an RSA key can encrypt others."""
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=not isinstance(key, ec.EllipticCurvePrivateKey),
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def _key_id(key: PrivateKey) -> x509.SubjectKeyIdentifier:
    return x509.SubjectKeyIdentifier.from_public_key(key.public_key())


def _type_of(text: str) -> _ASN1Type:
    return _ASN1Type.PrintableString if _PRINTABLE.match(text) else _ASN1Type.UTF8String


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
