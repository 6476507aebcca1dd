# SPDX-License-Identifier: Apache-2.0
"""The authority and the certificate of a service."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from muster.errors import ExternalError, UserError
from muster.service.edge.tls import Identity, Moment, make_context, make_identity
from tests.unit.service.auth.ties import repeatable

NAMES = ("muster.example.com", "192.0.2.10", "2001:db8::10")
NOW = datetime(2027, 1, 1, tzinfo=UTC)
RANDOM = repeatable("tls")


def make(folder: Path, names: tuple[str, ...] = NAMES, now: datetime = NOW) -> Identity:
    return make_identity(folder, names, Moment(now, RANDOM))


def certificate_of(identity: Identity) -> x509.Certificate:
    return x509.load_pem_x509_certificate(identity.path.read_bytes())


def test_an_identity_is_made_once(tmp_path: Path) -> None:
    first, again = make(tmp_path), make(tmp_path, now=NOW + timedelta(days=100))
    assert first == again
    assert (tmp_path / "authority.pem").read_text() == first.authority_pem
    assert "PRIVATE" not in first.authority_pem
    for name in ("authority.key", "server.pem"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600


def test_the_certificate_is_for_the_names_and_from_the_authority(tmp_path: Path) -> None:
    made = certificate_of(make(tmp_path))
    authority = x509.load_pem_x509_certificate((tmp_path / "authority.pem").read_bytes())
    made.verify_directly_issued_by(authority)
    named = made.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(each.value) for each in named] == list(NAMES)
    assert made.not_valid_before_utc < NOW, "the clocks of hosts may be behind"


def test_new_names_give_a_new_certificate_from_the_same_authority(tmp_path: Path) -> None:
    first = make(tmp_path)
    old = certificate_of(first)
    second = make(tmp_path, (*NAMES, "other.example.com"))
    assert second.authority_pem == first.authority_pem
    assert second.fingerprint != first.fingerprint
    assert certificate_of(second).serial_number != old.serial_number
    assert make(tmp_path, ("OTHER.example.com", *NAMES[::-1])).fingerprint == second.fingerprint


@pytest.mark.parametrize("now", [NOW + timedelta(days=340), NOW - timedelta(days=365)])
def test_a_certificate_that_is_not_good_for_long_or_not_yet_is_renewed(tmp_path: Path, now: datetime) -> None:
    first = make(tmp_path)
    second = make(tmp_path, now=now)
    assert second.fingerprint != first.fingerprint
    assert certificate_of(second).not_valid_after_utc > now + timedelta(days=300)


def test_what_is_damaged_is_made_again_except_the_key_of_the_authority(tmp_path: Path) -> None:
    first = make(tmp_path)
    (tmp_path / "server.pem").write_text("garbage")
    (tmp_path / "authority.pem").unlink()
    second = make(tmp_path)
    assert second.fingerprint != first.fingerprint
    (tmp_path / "authority.key").write_text("garbage")
    with pytest.raises(UserError, match="private key"):
        make(tmp_path)
    assert (tmp_path / "authority.key").read_text() == "garbage"


def test_a_certificate_of_another_authority_is_replaced(tmp_path: Path) -> None:
    make(tmp_path / "a")
    first = make(tmp_path / "b")
    (tmp_path / "b" / "server.pem").write_bytes((tmp_path / "a" / "server.pem").read_bytes())
    assert make(tmp_path / "b").fingerprint != first.fingerprint
    certificate_of(make(tmp_path / "b")).verify_directly_issued_by(
        x509.load_pem_x509_certificate(first.authority_pem.encode())
    )


def test_the_fingerprint_is_what_browsers_show(tmp_path: Path) -> None:
    identity = make(tmp_path)
    parts = identity.fingerprint.split(":")
    assert len(parts) == 32
    assert all(len(part) == 2 and part == part.upper() for part in parts)


@pytest.mark.parametrize(
    "names", [(), ("",), ("a b",), ("münchen.example",), ("a/b",), ("x" * 64,), ("ok", "-x")]
)
def test_names_that_no_server_can_have(tmp_path: Path, names: tuple[str, ...]) -> None:
    with pytest.raises(UserError, match="name"):
        make(tmp_path, names)
    assert not list(tmp_path.iterdir())


def test_context(tmp_path: Path) -> None:
    context = make_context(make(tmp_path).path)
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    assert all("CBC" not in cipher["name"] for cipher in context.get_ciphers())


def test_certificates_of_ones_own_that_cannot_be_used(tmp_path: Path) -> None:
    identity = make(tmp_path)
    with pytest.raises(UserError, match="cannot be used for TLS"):
        make_context(identity.path, tmp_path / "authority.key")
    with pytest.raises(ExternalError, match="cannot read"):
        make_context(tmp_path / "missing.pem")
    (tmp_path / "text.pem").write_text("hello")
    with pytest.raises(UserError) as caught:
        make_context(tmp_path / "text.pem")
    assert caught.value.hint
