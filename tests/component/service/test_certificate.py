# SPDX-License-Identifier: Apache-2.0
"""The certificate of a running service: it is renewed in time, and one of the site is loaded again."""

from __future__ import annotations

import asyncio
import hashlib
import os
import ssl
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from muster.certificates.issue import (
    SERVER,
    Authority,
    Term,
    Wish,
    common_name,
    issue,
    make_authority,
    render_certificate,
)
from muster.certificates.keys import P256, make_key, render_key
from muster.errors import UserError
from muster.service.edge import certificate
from muster.service.edge.given import Given, doubts, read_identity
from tests.component.service.clocks import Clock
from tests.component.service.whole import Whole, come, open_service, play

DAY = timedelta(days=1)
P256_NAME, ODD_NAME = (bytes.fromhex(f"06082a8648ce3d0301{last}") for last in ("07", "06"))
"""A curve, and one of the same length that the library does not know."""


async def served(site: Whole) -> x509.Certificate:
    """The certificate that a new connection gets."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    parts = urlsplit(site.url)
    _, writer = await asyncio.open_connection(parts.hostname, parts.port, ssl=context)
    try:
        data = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    finally:
        writer.close()
    return x509.load_der_x509_certificate(data)


def put_certificate(folder: Path, authority: Authority, clock: Clock, days: int) -> Given:
    """A certificate of the site in its place."""
    key = make_key(P256, os.urandom)
    made = issue(
        authority,
        Wish(common_name("localhost"), key, (SERVER,), ("127.0.0.1",)),
        Term(str(folder), clock() - DAY, (days + 1) * DAY),
    )
    given = Given(folder / "site.pem", folder / "site.key")
    given.certificate.write_text(render_certificate(made) + authority.pem)
    given.key.write_text(render_key(key))
    given.key.chmod(0o600)
    return given


def change_certificate(given: Given, number: int, old: bytes, new: bytes) -> None:
    """Replace bytes of one certificate of the file."""
    chain = x509.load_pem_x509_certificates(given.certificate.read_bytes())
    parts = [each.public_bytes(Encoding.DER) for each in chain]
    assert old in parts[number]
    parts[number] = parts[number].replace(old, new)
    given.certificate.write_text("".join(map(ssl.DER_cert_to_PEM_cert, parts)))


def put_site(folder: Path, clock: Clock) -> Given:
    """A certificate of the site, with the one above it."""
    term = Term(str(folder), clock() - DAY, 4000 * DAY)
    return put_certificate(
        folder, make_authority(common_name("site"), make_key(P256, os.urandom), term), clock, 100
    )


def test_a_running_service_renews_its_own_certificate(tmp_path: Path) -> None:
    async def scene() -> None:
        clock = Clock()
        async with open_service(tmp_path, clock) as site:
            first = await served(site)
            site.running.certificate.check()
            assert await served(site) == first
            clock.ahead = 400 * DAY
            site.running.certificate.check()
            second = await served(site)
            assert second.not_valid_before_utc <= clock() < second.not_valid_after_utc - 300 * DAY
            shown = (await site.ask("GET", "/service")).json
            digest = hashlib.sha256(second.public_bytes(Encoding.DER)).hexdigest()
            assert shown["fingerprint"].replace(":", "").lower() == digest
            assert "warnings" not in shown

    play(scene)


def test_a_running_service_keeps_its_authority(tmp_path: Path) -> None:
    """The file of the key may go while the service runs: a new authority is one that no host trusts."""

    async def scene() -> None:
        clock = Clock()
        async with open_service(tmp_path, clock) as site:
            renewed: list[str] = []
            site.running.certificate.on_renewed = lambda: renewed.append(site.running.identity.fingerprint)
            before = x509.load_pem_x509_certificate(site.running.identity.authority_pem.encode())
            (tmp_path / "data/keys/authority.key").unlink()
            clock.ahead = 400 * DAY
            site.running.certificate.check()
            assert renewed == [site.running.identity.fingerprint]
            (await served(site)).verify_directly_issued_by(before)
            assert not (tmp_path / "data/keys/authority.key").exists()

    play(scene)


def test_the_certificate_of_the_authority_is_renewed_with_the_same_key(tmp_path: Path) -> None:
    async def scene() -> None:
        clock = Clock()
        async with open_service(tmp_path, clock) as site:
            before = x509.load_pem_x509_certificate(site.running.identity.authority_pem.encode())
            clock.ahead = before.not_valid_after_utc - clock() - 300 * DAY
            site.running.certificate.check()
            after = x509.load_pem_x509_certificate(site.running.identity.authority_pem.encode())
            assert after.not_valid_after_utc - clock() > 3000 * DAY
            for each in (before, after):
                (await served(site)).verify_directly_issued_by(each)
            assert "warnings" not in (await site.ask("GET", "/service")).json

    play(scene)


def test_the_end_of_a_certificate_above_counts_too(tmp_path: Path) -> None:
    clock = Clock()
    term = Term("short", clock() - DAY, 20 * DAY)
    authority = make_authority(common_name("short"), make_key(P256, os.urandom), term)
    given = put_certificate(tmp_path, authority, clock, 100)
    assert read_identity(given, "", clock()).expires_at == authority.certificate.not_valid_after_utc


def test_the_service_looks_at_its_certificate_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        clock = Clock()
        monkeypatch.setattr(certificate.ServedCertificate.watch, "__defaults__", (0.01,))
        async with open_service(tmp_path, clock) as site:
            first = await served(site)
            clock.ahead = 400 * DAY

            async def is_renewed() -> bool:
                return await served(site) != first

            await come(is_renewed)

    play(scene, 60)


def test_a_certificate_of_the_site_is_loaded_again_and_its_end_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        clock = Clock()
        given = put_site(tmp_path, clock)
        async with open_service(tmp_path, clock, certificate=given) as site:
            first = await served(site)
            assert "warnings" not in (await site.ask("GET", "/service")).json
            clock.ahead = 80 * DAY
            site.running.certificate.check()
            site.running.certificate.check()
            (warning,) = (await site.ask("GET", "/service", Authorization="x")).json["warnings"]
            assert "expires at" in warning
            assert str(tmp_path) not in warning
            assert caplog.text.count("the certificate of the service expires at") == 1
            text = put_site(tmp_path, clock).key.read_text()
            given.key.write_text("half written")
            for _ in range(3):
                site.running.certificate.check()
                assert await served(site) == first
            assert caplog.text.count("the certificate stays as it was") == 1
            given.key.write_text(text)
            site.running.certificate.check()
            second = await served(site)
            assert second.not_valid_after_utc > first.not_valid_after_utc
            assert "warnings" not in (await site.ask("GET", "/service")).json
            clock.ahead += 101 * DAY
            (warning,) = (await site.ask("GET", "/ready")).json["warnings"]
            assert "expired at" in warning

    play(scene)


@pytest.mark.parametrize("number", [0, 1])
def test_a_key_of_a_curve_that_is_not_known_is_refused(tmp_path: Path, number: int) -> None:
    clock = Clock()
    given = put_site(tmp_path, clock)
    change_certificate(given, number, P256_NAME, ODD_NAME)
    with pytest.raises(UserError, match="whose key or dates cannot be read") as refused:
        read_identity(given, "", clock())
    assert "P-256" in refused.value.hint


def test_names_of_a_kind_that_is_not_known_are_no_names(tmp_path: Path) -> None:
    given = put_site(tmp_path, clock := Clock())
    change_certificate(given, 0, b"\x87\x04\x7f\x00\x00\x01", b"\xa3\x04\x05\x00\x05\x00")
    (doubt,) = doubts(given, ("127.0.0.1",), clock())
    assert "it names no host at all" in doubt


def test_no_failure_ends_the_checks_of_a_certificate(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        clock = Clock()
        given, checks = put_site(tmp_path, clock), 0
        monkeypatch.setattr(certificate.ServedCertificate.watch, "__defaults__", (0.01,))

        def read(*arguments: Any) -> Any:
            nonlocal checks
            checks += 1
            if 1 < checks < 20:
                raise KeyError("unexpected")
            return read_identity(*arguments)

        monkeypatch.setattr(certificate, "read_identity", read)
        async with open_service(tmp_path, clock, certificate=given) as site:
            first = await served(site)
            await come(lambda: checks >= 25)
            assert caplog.text.count("stays as it was, through a bug in Muster") == 1
            assert caplog.text.count("KeyError: 'unexpected'") == 1
            put_site(tmp_path, clock)
            change_certificate(given, 1, P256_NAME, ODD_NAME)
            seen = checks
            await come(lambda: checks >= seen + 5)
            assert caplog.text.count("whose key or dates cannot be read") == 1
            put_site(tmp_path, clock)

            async def is_new() -> bool:
                return await served(site) != first

            await come(is_new)

    play(scene, 60)
