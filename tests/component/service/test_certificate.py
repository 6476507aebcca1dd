# SPDX-License-Identifier: Apache-2.0
"""The certificate of a running service: it is renewed in time, and one of the site is loaded again."""

from __future__ import annotations

import asyncio
import hashlib
import os
import ssl
from datetime import timedelta
from pathlib import Path
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
from muster.service.edge import certificate
from muster.service.edge.given import Given
from tests.component.service.clocks import Clock
from tests.component.service.whole import Whole, come, open_service, play

DAY = timedelta(days=1)


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
        authority = make_authority(
            common_name("site"), make_key(P256, os.urandom), Term(str(tmp_path), clock() - DAY, 4000 * DAY)
        )
        given = put_certificate(tmp_path, authority, clock, 100)
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
            text = put_certificate(tmp_path, authority, clock, 100).key.read_text()
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
