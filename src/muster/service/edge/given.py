# SPDX-License-Identifier: Apache-2.0
"""A certificate that the site has already, with its key, in the place of the one that a service makes.

It is looked at before it is used: what callers would refuse is refused here, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID

from muster.certificates.parse import parse_certificates
from muster.errors import UserError, cannot
from muster.frozen import dataclass
from muster.service.edge.tls import RENEW_BEFORE, Identity, fingerprint, make_context

_MOST_BYTES: Final = 1 << 20
_ANY_USE: Final = frozenset({ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE})
_OTHERS: Final = 0o004
_DEFECTS: Final = (
    ValueError,
    UnsupportedAlgorithm,
    x509.AttributeNotFound,
    x509.DuplicateExtension,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)
"""What the library raises for a part of a certificate that it cannot read: its key, dates, extensions."""
_TAKE: Final = "have it issued, and those above it, for RSA keys or for the curves P-256, P-384 or P-521"


@dataclass(frozen=True)
class Given:
    """Where a certificate and its key are; they may be in one file."""

    certificate: Path
    key: Path


def read_identity(given: Given, authority_pem: str, now: datetime) -> Identity:
    """What a server shows that has a certificate of the site.

    Hosts are told to trust what stands above it in the file, besides the service's own authority.
    """
    chain = _read_chain(given.certificate)
    with _readable(given.certificate):
        _check_key(given, chain)
        _check_term(given.certificate, chain[0], now)
        make_context(given.certificate, given.key)
        above = "".join(each.public_bytes(Encoding.PEM).decode("ascii") for each in chain[1:] or chain)
        expires_at = min(each.not_valid_after_utc for each in chain)
        shown = fingerprint(chain[0])
    return Identity(given.certificate, authority_pem + above, shown, given.key, expires_at)


def doubts(given: Given, names: Sequence[str], now: datetime) -> Iterator[str]:
    """What may be meant, but most likely is not: a sentence for each."""
    leaf = _read_chain(given.certificate)[0]
    known = _names(leaf)
    if missing := [name for name in names if not any(_fits(name, each) for each in known)]:
        what = f"it is for {', '.join(known)}" if known else "it names no host at all"
        yield f"{given.certificate} is not for {', '.join(missing)}: {what}"
    if leaf.not_valid_after_utc - RENEW_BEFORE <= now:
        yield f"{given.certificate} is good only until {leaf.not_valid_after_utc:%Y-%m-%d}: renew it soon"
    if not _is_for_servers(leaf):
        yield f"{given.certificate} is not meant for servers, and most callers will refuse it"
    if given.key.stat().st_mode & _OTHERS:
        yield f"{given.key} can be read by everybody; chmod 600 {given.key}"


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Certificates of which a part cannot be read are an error with a way out."""
    try:
        yield
    except _DEFECTS as error:
        raise UserError(f"{path} has a certificate whose key or dates cannot be read", hint=_TAKE) from error


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES)
    except OSError as error:
        raise cannot("read", path, error) from error


def _read_chain(path: Path) -> list[x509.Certificate]:
    data = _read(path)
    try:
        return parse_certificates(data)
    except ValueError:
        pass
    try:
        x509.load_der_x509_certificate(data)
    except (ValueError, x509.InvalidVersion):
        hint = "give PEM: it begins with -----BEGIN CERTIFICATE-----, and those above it follow"
    else:
        hint = f"it is DER: openssl x509 -inform der -in {path} -out NEW.pem"
    raise UserError(f"{path} is not a certificate in PEM", hint=hint)


def _check_key(given: Given, chain: Sequence[x509.Certificate]) -> None:
    """Nothing of the key is ever repeated, nor what the library says of it."""
    try:
        key = load_pem_private_key(_read(given.key), None)
    except TypeError:
        raise UserError(
            f"the key in {given.key} is encrypted, and a service has nobody to ask for the password",
            hint=f"openssl pkey -in {given.key} -out NEW.key; chmod 600 NEW.key",
        ) from None
    except UnsupportedAlgorithm:
        raise UserError(f"the key in {given.key} is of a kind that is not known", hint=_TAKE) from None
    except ValueError:
        raise UserError(
            f"{given.key} does not hold a private key in PEM",
            hint="name the file with the key of the certificate: it begins with -----BEGIN PRIVATE KEY-----",
        ) from None
    mine = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    fits = [_public(each) == mine for each in chain]
    if not fits[0]:
        raise UserError(
            f"the key in {given.key} does not belong to the certificate in {given.certificate}",
            hint="put the server's certificate first in the file, those above it after it"
            if any(fits)
            else "name the key that the certificate was requested with",
        )


def _public(certificate: x509.Certificate) -> bytes:
    return certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _check_term(path: Path, leaf: x509.Certificate, now: datetime) -> None:
    if leaf.not_valid_after_utc <= now:
        raise UserError(
            f"{path} expired at {leaf.not_valid_after_utc:%Y-%m-%d %H:%M} UTC",
            hint="renew it, or leave --certificate out: the service makes one of its own",
        )
    if leaf.not_valid_before_utc > now:
        raise UserError(
            f"{path} is not good before {leaf.not_valid_before_utc:%Y-%m-%d %H:%M} UTC",
            hint="check the clock of this machine, or take a certificate that is good already",
        )


def _names(leaf: x509.Certificate) -> list[str]:
    try:
        named = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (*_DEFECTS, x509.ExtensionNotFound):
        return []
    kinds = (x509.DNSName, x509.IPAddress)
    return [str(each.value).lower() for each in named if isinstance(each, kinds)]


def _fits(name: str, known: str) -> bool:
    """A star stands for one label, the first."""
    try:
        return ip_address(name) == ip_address(known)
    except ValueError:
        pass
    name = name.lower()
    return name == known or (known.startswith("*.") and name.partition(".")[2] == known[2:])


def _is_for_servers(leaf: x509.Certificate) -> bool:
    try:
        uses = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except (*_DEFECTS, x509.ExtensionNotFound):
        return True
    return not _ANY_USE.isdisjoint(uses)
