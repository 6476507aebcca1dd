# SPDX-License-Identifier: Apache-2.0
"""Secrets → certificates. Nothing random is added: the same secrets give the same certificates, to the byte.

Subjects, uses and dates are those that the cluster expects. The texts in names have the types that Go gives
to them: a client written in Go finds the authority of a certificate by comparing names byte by byte.
"""

from __future__ import annotations

import hashlib
import re
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

from muster.frozen import dataclass
from muster.image.keys import PrivateKey, public_der, signature_hash
from muster.image.secrets import KeyName, SiteSecrets

TEN_YEARS: Final = timedelta(days=3650)
TWO_YEARS: Final = timedelta(days=730)
_PRINTABLE: Final = re.compile(r"[A-Za-z0-9 '()+,./:=?-]*\Z")
_OPENSHIFT: Final = "openshift"


@dataclass(frozen=True)
class Authority:
    """A certificate that signs others, and the key that it does so with."""

    certificate: x509.Certificate
    key: PrivateKey = field(repr=False)

    @property
    def pem(self) -> str:
        return render_certificate(self.certificate)


@dataclass(frozen=True)
class Pki:
    """The certificates of a cluster that exist before the cluster does."""

    load_balancer: Authority
    localhost: Authority
    service_network: Authority
    admin: Authority
    admin_client: x509.Certificate
    ingress: Authority

    @property
    def api_bundle(self) -> str:
        """The authorities of the API's own certificates."""
        return "".join(each.pem for each in (self.localhost, self.service_network, self.load_balancer))

    @property
    def image_based_bundle(self) -> str:
        """The same and that of the applications: the console can be verified from the first minute."""
        return self.api_bundle + self.ingress.pem

    @property
    def ingress_name(self) -> str:
        """The common name of the applications' authority."""
        return ingress_name(self.ingress.certificate.not_valid_before_utc)


def build_pki(secrets: SiteSecrets) -> Pki:
    """The cluster's certificates."""
    admin = _signer(secrets, KeyName.ADMIN_SIGNER)
    return Pki(
        load_balancer=_signer(secrets, KeyName.LB_SIGNER),
        localhost=_signer(secrets, KeyName.LOCALHOST_SIGNER),
        service_network=_signer(secrets, KeyName.SERVICE_NETWORK_SIGNER),
        admin=admin,
        admin_client=_admin_client(secrets, admin),
        ingress=_ingress(secrets),
    )


def build_service_authority(secrets: SiteSecrets) -> Authority:
    """The authority of the service that hosts meet at, and of nothing else."""
    names = ((NameOID.ORGANIZATIONAL_UNIT_NAME, "muster"), (NameOID.COMMON_NAME, "muster-service-ca"))
    return _authority(secrets, KeyName.SERVICE_CA, _name(*names), TEN_YEARS)


def build_service_certificate(secrets: SiteSecrets, names: Sequence[str]) -> x509.Certificate:
    """The certificate of the service that hosts meet at, for these names and addresses."""
    authority = build_service_authority(secrets)
    key = secrets.private[KeyName.SERVICE]
    subject = _name((NameOID.ORGANIZATIONAL_UNIT_NAME, "muster"), (NameOID.COMMON_NAME, "muster-service"))
    builder = _begin(secrets, subject, authority.certificate.subject, key, TEN_YEARS)
    builder = _add_uses(builder, key, (ExtendedKeyUsageOID.SERVER_AUTH,), authority)
    alternatives = x509.SubjectAlternativeName([_alternative(name) for name in names])
    return _sign(builder.add_extension(alternatives, critical=False), authority.key)


def render_certificate(certificate: x509.Certificate) -> str:
    """A certificate as PEM."""
    return certificate.public_bytes(Encoding.PEM).decode("ascii")


def ingress_name(created: datetime) -> str:
    """The name that the ingress operator gives to its authority."""
    return f"ingress-operator@{int(created.timestamp())}"


def _signer(secrets: SiteSecrets, name: KeyName) -> Authority:
    subject = _name((NameOID.ORGANIZATIONAL_UNIT_NAME, _OPENSHIFT), (NameOID.COMMON_NAME, str(name)))
    return _authority(secrets, name, subject, TEN_YEARS)


def _ingress(secrets: SiteSecrets) -> Authority:
    subject = _name((NameOID.COMMON_NAME, ingress_name(secrets.created)))
    return _authority(secrets, KeyName.INGRESS_SIGNER, subject, TWO_YEARS)


def _authority(secrets: SiteSecrets, name: KeyName, subject: x509.Name, valid: timedelta) -> Authority:
    key = secrets.private[name]
    builder = _begin(secrets, subject, subject, key, valid)
    builder = builder.add_extension(_usage(key, signs=True), critical=True)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    return Authority(_sign(builder.add_extension(_key_id(key), critical=False), key), key)


def _admin_client(secrets: SiteSecrets, authority: Authority) -> x509.Certificate:
    key = secrets.private[KeyName.ADMIN_CLIENT]
    subject = _name((NameOID.ORGANIZATION_NAME, "system:masters"), (NameOID.COMMON_NAME, "system:admin"))
    builder = _begin(secrets, subject, authority.certificate.subject, key, TEN_YEARS)
    uses = (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH)
    return _sign(_add_uses(builder, key, uses, authority), authority.key)


def _begin(
    secrets: SiteSecrets, subject: x509.Name, issuer: x509.Name, key: PrivateKey, valid: timedelta
) -> x509.CertificateBuilder:
    start = secrets.created
    public = key.public_key()
    seed = secrets.cluster_id.encode() + subject.public_bytes() + public_der(public)
    serial = int.from_bytes(hashlib.sha256(seed).digest()[:16], "big") >> 1 or 1
    return x509.CertificateBuilder(issuer, subject, public, serial, start, start + valid)


def _add_uses(
    builder: x509.CertificateBuilder, key: PrivateKey, uses: Sequence[ObjectIdentifier], authority: Authority
) -> x509.CertificateBuilder:
    """The extensions of a certificate that signs no others."""
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


@lru_cache(maxsize=16)
def _name(*parts: tuple[ObjectIdentifier, str]) -> x509.Name:
    """A name whose texts have the types that Go chooses: printable when it can be, else UTF-8."""
    return x509.Name([x509.NameAttribute(which, text, _type=_type_of(text)) for which, text in parts])


def _type_of(text: str) -> _ASN1Type:
    return _ASN1Type.PrintableString if _PRINTABLE.match(text) else _ASN1Type.UTF8String


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
