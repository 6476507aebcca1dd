# SPDX-License-Identifier: Apache-2.0
"""TLS with an authority of our own, and proxies."""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from muster.errors import ExternalError, UserError
from muster.image.base_image import obtain_base_image
from muster.image.cache.store import Cache
from muster.image.download.http import Fetch, http_fetch
from muster.progress import SILENT
from tests.component.image.conftest import ISO, SHA256, Obtain
from tests.component.image.web import Web, start_web


def certificate(
    name: str, issuer: tuple[x509.Certificate, ec.EllipticCurvePrivateKey] | None = None
) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer[0].subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
    )
    if issuer:
        address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        builder = builder.add_extension(x509.SubjectAlternativeName([address]), critical=False)
    return builder.sign(issuer[1] if issuer else key, hashes.SHA256()), key


@pytest.fixture
def authority() -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    return certificate("an authority of a site")


@pytest.fixture
def pem(authority: tuple[x509.Certificate, ec.EllipticCurvePrivateKey]) -> str:
    return authority[0].public_bytes(serialization.Encoding.PEM).decode()


@pytest.fixture
def secure(authority: tuple[x509.Certificate, ec.EllipticCurvePrivateKey], tmp_path: Path) -> Iterator[Web]:
    leaf, key = certificate("127.0.0.1", authority)
    chain = tmp_path / "server.pem"
    chain.write_bytes(
        leaf.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)
    with start_web(context) as web:
        web.files["/base.iso"] = ISO
        yield web


def obtain_with(fetch: Fetch, url: str, cache: Cache) -> str:
    return obtain_base_image(url, cache=cache, fetch=fetch, progress=SILENT).sha256


def test_an_extra_authority(secure: Web, pem: str, cache: Cache, waits: list[float]) -> None:
    with pytest.raises(ExternalError, match=r"the certificate of 127.0.0.1:.* is not trusted") as caught:
        obtain_with(http_fetch(), f"{secure.url}/base.iso", cache)
    assert "--ca-bundle" in caught.value.hint
    assert waits == [], "trying again does not help"
    assert obtain_with(http_fetch([pem]), f"{secure.url}/base.iso", cache) == SHA256


def test_a_bundle_that_is_none(secure: Web, cache: Cache) -> None:
    with pytest.raises(UserError, match="no certificate that can be read"):
        obtain_with(http_fetch(["-----BEGIN CERTIFICATE-----\nxx\n"]), f"{secure.url}/base.iso", cache)


def test_tls_is_not_left(secure: Web, web: Web, pem: str, cache: Cache, waits: list[float]) -> None:
    secure.redirects["/moved.iso"] = f"{web.url}/base.iso"
    with pytest.raises(ExternalError, match="from https to something that is not"):
        obtain_with(http_fetch([pem]), f"{secure.url}/moved.iso", cache)
    assert not web.requests


def test_plain_http_where_tls_is_expected(web: Web, cache: Cache, waits: list[float]) -> None:
    with pytest.raises(ExternalError, match=r"TLS with 127.0.0.1"):
        obtain_with(http_fetch(), f"{web.url.replace('http', 'https')}/base.iso", cache)


def test_a_proxy_of_the_environment(web: Web, obtain: Obtain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", web.url.replace("http://", "http://joe:hunter2@"))
    assert obtain(f"http://images.example.com/base.iso?sha256={SHA256}").sha256 == SHA256
    path, headers = web.requests[0]
    assert path == "http://images.example.com/base.iso"
    assert headers["proxy-authorization"].startswith("Basic ")


def test_a_proxy_that_refuses(
    web: Web, obtain: Obtain, monkeypatch: pytest.MonkeyPatch, told: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", web.url.replace("http://", "http://joe:hunter2@"))
    with pytest.raises(
        ExternalError, match=r"the proxy 127.0.0.1:\d+ refused images.example.com: 407"
    ) as caught:
        obtain("https://images.example.com/base.iso")
    assert "hunter2" not in told.text + caught.value.message + caught.value.hint
    assert web.requests[0][0] == "CONNECT images.example.com:443"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of the server's threads
def test_no_proxy(web: Web, obtain: Obtain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    with pytest.raises(ExternalError, match=r"cannot reach .* by the proxy 127.0.0.1:1"):
        obtain(f"{web.url}/base.iso?sha256={SHA256}")
    monkeypatch.setenv("NO_PROXY", "example.com,127.0.0.0/8")
    assert obtain(f"{web.url}/base.iso?sha256={SHA256}").sha256 == SHA256
