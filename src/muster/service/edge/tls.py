# SPDX-License-Identifier: Apache-2.0
"""TLS: an authority for each service, made once, and a certificate for the names that it is called by.

Whoever trusts the authority need not be told again when the names change: only the certificate is new then.
"""

from __future__ import annotations

import hashlib
import re
import ssl
from collections.abc import Sequence
from datetime import datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import Encoding

from muster.certificates.issue import (
    SERVER,
    TEN_YEARS,
    Authority,
    Term,
    Wish,
    common_name,
    issue,
    make_authority,
    render_certificate,
)
from muster.certificates.keys import (
    P256,
    PrivateKey,
    Random,
    make_key,
    parse_key,
    public_der,
    render_key,
)
from muster.certificates.parse import parse_certificate
from muster.errors import UserError, cannot
from muster.files import save_file
from muster.frozen import dataclass
from muster.service.auth.keyfile import load_key_file, load_or_make, replace_key_file

AUTHORITY: Final = "authority.pem"
"""The certificate of the authority alone, to be handed to others."""
AUTHORITY_KEY: Final = "authority.key"
SERVER_FILE: Final = "server.pem"
"""Key and certificates of the server in one file: they are replaced together or not at all."""
ONE_YEAR: Final = timedelta(days=365)
RENEW_BEFORE: Final = timedelta(days=30)
_LABEL: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_NAME: Final = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*")
SKEW: Final = timedelta(days=1)
"""Certificates are good from a little before now: the clocks of hosts differ before they are set."""


@dataclass(frozen=True)
class Identity:
    """What a server shows to its callers, and what they trust it by."""

    path: Path
    """Key and certificates as one PEM file."""
    authority_pem: str
    fingerprint: str
    """Of the server's certificate (SHA-256), for people who compare it."""
    key: Path | None = None
    """The key, where it is in a file of its own."""
    expires_at: datetime | None = None
    """When the first certificate ends of those that callers need to trust it."""


@dataclass(frozen=True)
class Moment:
    """What a certificate is made from: the time, and randomness."""

    now: datetime
    random: Random


def make_identity(
    folder: Path, names: Sequence[str], moment: Moment, authority: Authority | None = None
) -> Identity:
    """The identity of a service; certificates are made when there is none for these names, or it is old."""
    _check_names(names)
    authority = authority or load_authority(folder, moment)
    path = folder / SERVER_FILE
    found = _find_certificate(path, authority, names, moment.now)
    if found is None:
        found = _renew(path, authority, names, moment)
    ends = min(found.not_valid_after_utc, authority.certificate.not_valid_after_utc)
    return Identity(path, authority.pem, fingerprint(found), expires_at=ends)


def make_context(path: Path, key: Path | None = None) -> ssl.SSLContext:
    """What a server needs to speak TLS: 1.2 at least, and nothing that is known to be weak."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_CIPHER_SERVER_PREFERENCE | ssl.OP_NO_COMPRESSION
    context.set_ciphers("ECDHE+AESGCM:ECDHE+CHACHA20")
    context.set_alpn_protocols(["http/1.1"])
    load_chain(context, path, key)
    return context


def load_chain(context: ssl.SSLContext, path: Path, key: Path | None = None) -> None:
    """Show this certificate from now on; connections that there are keep theirs."""
    try:
        context.load_cert_chain(path, key, password=_no_password)
    except (ssl.SSLError, ValueError) as error:
        raise UserError(
            f"{path} and its key cannot be used for TLS",
            hint="give a certificate (PEM, with those above it) and the private key that belongs to it",
        ) from error
    except OSError as error:
        raise cannot("read", Path(error.filename or path), error) from error


def fingerprint(certificate: x509.Certificate) -> str:
    """A certificate's SHA-256, as browsers show it."""
    digest = hashlib.sha256(certificate.public_bytes(Encoding.DER)).digest()
    return digest.hex(":").upper()


def _no_password() -> str:
    """Without it, the library would ask on the terminal."""
    return ""


def load_authority(folder: Path, moment: Moment) -> Authority:
    """The authority of a service; on its first start it is made."""
    path = folder / AUTHORITY_KEY
    text = load_or_make(path, lambda: render_key(make_key(P256, moment.random)).encode("ascii"))
    key = parse_key(text.decode("ascii", "replace"))
    if key is None:
        raise UserError(
            f"{path} does not hold a private key",
            hint="restore it from a backup, or remove it: a new authority is made, which nobody trusts yet",
        )
    return certify_authority(folder, key, moment.now)


def certify_authority(folder: Path, key: PrivateKey, now: datetime) -> Authority:
    """The authority of a key, with a new certificate if there is none or it ends within a year.

    Name and key stay, so callers that trust the certificate from before trust what is signed now, until that
    one ends.
    """
    found, public = _load_certificate(folder / AUTHORITY), public_der(key.public_key())
    if (
        found is not None
        and public_der(found.public_key()) == public  # type: ignore[arg-type]
        and found.not_valid_after_utc - now > ONE_YEAR
    ):
        return Authority(found, key)
    name = common_name(f"muster {hashlib.sha256(public).hexdigest()[:8]}")
    authority = make_authority(name, key, Term(str(folder), now - SKEW, TEN_YEARS))
    save_file(folder / AUTHORITY, authority.pem.encode("ascii"))
    return authority


def _load_certificate(path: Path) -> x509.Certificate | None:
    try:
        return parse_certificate(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    except OSError as error:
        raise cannot("read", path, error) from error


def _find_certificate(
    path: Path, authority: Authority, names: Sequence[str], now: datetime
) -> x509.Certificate | None:
    """The certificate that is there, when it is still good for these names."""
    data = load_key_file(path)
    if data is None or parse_key(data.decode("ascii", "replace")) is None:
        return None
    try:
        found = parse_certificate(data)
        found.verify_directly_issued_by(authority.certificate)
        named = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound):
        return None
    is_good = found.not_valid_before_utc <= now < found.not_valid_after_utc - RENEW_BEFORE
    return found if is_good and {_text(each) for each in named} == {_plain(name) for name in names} else None


def _renew(path: Path, authority: Authority, names: Sequence[str], moment: Moment) -> x509.Certificate:
    """A new key with a new certificate: the serial number follows from the key."""
    key = make_key(P256, moment.random)
    wish = Wish(common_name(names[0]), key, (SERVER,), tuple(dict.fromkeys(_plain(name) for name in names)))
    made = issue(authority, wish, Term(str(path), moment.now - SKEW, ONE_YEAR + SKEW))
    text = render_key(key) + render_certificate(made) + authority.pem
    replace_key_file(path, text.encode("ascii"))
    return made


def _check_names(names: Sequence[str]) -> None:
    wrong = [name for name in names if not _is_address(name) and not _NAME.fullmatch(name)]
    if wrong or not names:
        raise UserError(
            f"{wrong[0]!r} is not a name that a server can have" if wrong else "the server has no name",
            hint="give the host names and addresses that callers use for it, such as muster.example.com",
        )


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _plain(name: str) -> str:
    return str(ip_address(name)) if _is_address(name) else name.lower()


def _text(name: x509.GeneralName) -> str:
    return str(name.value).lower()
