# SPDX-License-Identifier: Apache-2.0
"""A certificate of the site: what is taken, what is refused and why, and what is doubted."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from muster.certificates.issue import CLIENT
from muster.certificates.keys import P256, make_key, render_key
from muster.errors import ExternalError, UserError
from muster.service.edge.given import Given, doubts, read_identity
from tests.certificates import site_certificate
from tests.unit.service.auth.ties import repeatable

NOW = datetime(2027, 1, 1, tzinfo=UTC)
RANDOM = repeatable("given")
OURS = "-----OURS-----\n"


def files(folder: Path, names: tuple[str, ...] = ("muster.example.com",), **parts: Any) -> Given:
    return site_certificate(folder, names, NOW, **parts)


def test_it_is_shown_and_hosts_trust_what_is_above_it(tmp_path: Path) -> None:
    given = files(tmp_path)
    found = read_identity(given, OURS, NOW)
    assert (found.path, found.key) == (given.certificate, given.key)
    leaf, above = x509.load_pem_x509_certificates(given.certificate.read_bytes())
    assert found.fingerprint.replace(":", "").lower() == leaf.fingerprint(leaf.signature_hash_algorithm).hex()  # type: ignore[arg-type]
    assert found.authority_pem == OURS + above.public_bytes(Encoding.PEM).decode()
    assert not list(doubts(given, ("muster.example.com",), NOW))


def test_one_that_stands_alone_is_trusted_itself_and_key_and_certificate_may_share_a_file(
    tmp_path: Path,
) -> None:
    given = files(tmp_path)
    leaf = x509.load_pem_x509_certificate(given.certificate.read_bytes()).public_bytes(Encoding.PEM).decode()
    given.key.write_text(given.key.read_text() + leaf)
    found = read_identity(Given(given.key, given.key), "", NOW)
    assert found.authority_pem == leaf


def encrypt(given: Given) -> None:
    key = load_pem_private_key(given.key.read_bytes(), None)
    given.key.write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"s3cr3t"))
    )


def to_der(given: Given) -> None:
    leaf = x509.load_pem_x509_certificate(given.certificate.read_bytes())
    given.certificate.write_bytes(leaf.public_bytes(Encoding.DER))


def turn(given: Given) -> None:
    chain = x509.load_pem_x509_certificates(given.certificate.read_bytes())
    given.certificate.write_bytes(b"".join(each.public_bytes(Encoding.PEM) for each in chain[::-1]))


@pytest.mark.parametrize(
    ("spoil", "message", "hint"),
    [
        (lambda given: given.certificate.write_text("hello"), "is not a certificate in PEM", "-----BEGIN"),
        (to_der, "is not a certificate in PEM", "openssl x509 -inform der"),
        (lambda given: given.certificate.write_text(""), "is not a certificate in PEM", "-----BEGIN"),
        (lambda given: given.key.write_text("hello"), "does not hold a private key", "PRIVATE KEY"),
        (encrypt, "is encrypted", "openssl pkey -in"),
        (
            lambda given: given.key.write_text(render_key(make_key(P256, RANDOM))),
            "does not belong to the certificate",
            "was requested with",
        ),
        (turn, "does not belong to the certificate", "put the server's certificate first"),
    ],
)
def test_what_cannot_be_used_is_refused(
    tmp_path: Path, spoil: Callable[[Given], object], message: str, hint: str
) -> None:
    given = files(tmp_path)
    spoil(given)
    with pytest.raises(UserError, match=message) as refused:
        read_identity(given, "", NOW)
    assert hint in refused.value.hint
    assert "s3cr3t" not in f"{refused.value} {refused.value.hint}"


@pytest.mark.parametrize("which", ["certificate", "key"])
def test_a_file_that_is_not_there(tmp_path: Path, which: str) -> None:
    given = files(tmp_path)
    getattr(given, which).unlink()
    with pytest.raises((UserError, ExternalError), match=f"cannot read .*{getattr(given, which).name}"):
        read_identity(given, "", NOW)


def test_what_has_expired_or_is_not_good_yet(tmp_path: Path) -> None:
    given = files(tmp_path)
    with pytest.raises(UserError, match="expired at 2027-03-31"):
        read_identity(given, "", NOW + timedelta(days=90))
    with pytest.raises(UserError, match="is not good before 2026-12-31"):
        read_identity(given, "", NOW - timedelta(days=10))


@pytest.mark.parametrize(
    ("known", "name", "fits"),
    [
        ("muster.example.com", "MUSTER.example.com", True),
        ("*.example.com", "muster.example.com", True),
        ("*.example.com", "a.muster.example.com", False),
        ("*.example.com", "example.com", False),
        ("192.0.2.10", "192.0.2.10", True),
        ("2001:db8::10", "2001:db8:0::10", True),
        ("192.0.2.10", "192.0.2.1", False),
    ],
)
def test_a_name_that_is_missing_is_doubted(tmp_path: Path, known: str, name: str, fits: bool) -> None:
    found = list(doubts(files(tmp_path, (known,)), (name,), NOW))
    assert found == ([] if fits else [f"{tmp_path / 'tls.crt'} is not for {name}: it is for {known}"])


def test_what_else_is_doubted(tmp_path: Path) -> None:
    given = files(tmp_path, use=CLIENT)
    given.key.chmod(0o644)
    found = "\n".join(doubts(given, (), NOW + timedelta(days=70)))
    assert "is good only until 2027-03-31" in found
    assert "is not meant for servers" in found
    assert "can be read by everybody" in found
