# SPDX-License-Identifier: Apache-2.0
"""Certificates, kubeconfig and tokens follow from the secrets, and strangers can verify them."""

from __future__ import annotations

import base64
import json
import os
from datetime import timedelta
from ipaddress import ip_address
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_public_key
from cryptography.x509.verification import PolicyBuilder, Store

from muster.errors import UserError
from muster.image.kubeconfig import render_kubeconfig
from muster.image.pki import build_pki, build_service_authority, build_service_certificate
from muster.image.secrets import make_secrets, renew_tokens
from muster.image.tokens import build_tokens, parse_validity
from muster.model.pki import Curve, KeyAlgorithm, KeySpec
from tests.seeds import NOW, fixed_secrets


def test_the_same_secrets_give_the_same_certificates() -> None:
    one, two = build_pki(fixed_secrets()), build_pki(fixed_secrets())
    assert one.image_based_bundle == two.image_based_bundle
    assert one.admin_client.public_bytes(Encoding.DER) == two.admin_client.public_bytes(Encoding.DER)


@pytest.mark.parametrize("which", ["load_balancer", "localhost", "service_network", "admin"])
def test_signers(which: str) -> None:
    certificate = getattr(build_pki(fixed_secrets()), which).certificate
    assert certificate.issuer == certificate.subject
    assert certificate.subject.rfc4514_string().endswith("OU=openshift")
    assert certificate.not_valid_before_utc == NOW
    assert certificate.not_valid_after_utc == NOW + timedelta(days=3650)
    assert certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    usage = certificate.extensions.get_extension_for_class(x509.KeyUsage).value
    assert (usage.digital_signature, usage.key_cert_sign, usage.key_encipherment) == (True, True, False)
    certificate.verify_directly_issued_by(certificate)


def test_names_have_the_types_that_go_gives_to_them() -> None:
    pki = build_pki(fixed_secrets())
    printable = b"\x13" + bytes([len("openshift")]) + b"openshift"
    assert printable in pki.load_balancer.certificate.public_bytes(Encoding.DER)
    utf8 = b"\x0c" + bytes([len(pki.ingress_name)]) + pki.ingress_name.encode()
    assert utf8 in pki.ingress.certificate.public_bytes(Encoding.DER)


def test_ingress_signer() -> None:
    pki = build_pki(fixed_secrets())
    certificate = pki.ingress.certificate
    assert certificate.subject.rfc4514_string() == f"CN=ingress-operator@{int(NOW.timestamp())}"
    assert certificate.not_valid_after_utc == NOW + timedelta(days=730)
    assert pki.ingress_name == f"ingress-operator@{int(NOW.timestamp())}"


def test_serial_numbers_differ() -> None:
    pki = build_pki(fixed_secrets())
    authorities = (pki.load_balancer, pki.localhost, pki.service_network, pki.admin, pki.ingress)
    assert (
        len({each.certificate.serial_number for each in authorities} | {pki.admin_client.serial_number}) == 6
    )


@pytest.mark.parametrize(
    "spec",
    [KeySpec(KeyAlgorithm.ECDSA, curve=curve) for curve in Curve] + [KeySpec(KeyAlgorithm.RSA, bits=2048)],
    ids=str,
)
def test_the_client_certificate_verifies(spec: KeySpec) -> None:
    pki = build_pki(make_secrets(os.urandom, NOW, spec))
    pki.admin_client.verify_directly_issued_by(pki.admin.certificate)
    assert pki.admin_client.subject.rfc4514_string() == "CN=system:admin,O=system:masters"


def test_the_service_certificate_verifies() -> None:
    secrets = fixed_secrets()
    authority = build_service_authority(secrets)
    certificate = build_service_certificate(secrets, ["192.0.2.10", "2001:db8::10", "rendezvous.example.com"])
    policy = PolicyBuilder().store(Store([authority.certificate])).time(NOW + timedelta(days=1))
    for subject in (
        x509.IPAddress(ip_address("192.0.2.10")),
        x509.IPAddress(ip_address("2001:db8::10")),
        x509.DNSName("rendezvous.example.com"),
    ):
        policy.build_server_verifier(subject).verify(certificate, [])
    with pytest.raises(x509.verification.VerificationError):
        policy.build_server_verifier(x509.DNSName("other.example.com")).verify(certificate, [])


def test_kubeconfig() -> None:
    secrets = fixed_secrets()
    pki = build_pki(secrets)
    body = yaml.safe_load(render_kubeconfig(pki, secrets, "0042", "example.com", pki.api_bundle))
    cluster = body["clusters"][0]
    assert cluster["name"] == "0042"
    assert cluster["cluster"]["server"] == "https://api.0042.example.com:6443"
    bundle = x509.load_pem_x509_certificates(
        base64.b64decode(cluster["cluster"]["certificate-authority-data"])
    )
    assert [each.subject for each in bundle] == [
        each.certificate.subject for each in (pki.localhost, pki.service_network, pki.load_balancer)
    ]
    user = body["users"][0]["user"]
    client = x509.load_pem_x509_certificate(base64.b64decode(user["client-certificate-data"]))
    client.verify_directly_issued_by(pki.admin.certificate)
    assert b"PRIVATE KEY" in base64.b64decode(user["client-key-data"])
    assert body["current-context"] == body["contexts"][0]["name"] == "admin"
    assert body["contexts"][0]["context"] == {"cluster": "0042", "user": "admin"}


def _claims(token: str, public_key: str) -> dict[str, Any]:
    """The claims of a token whose signature is right."""
    head, body, signature = token.split(".")
    raw = base64.urlsafe_b64decode(signature + "==")
    key = load_pem_public_key(public_key.encode())
    assert isinstance(key, ec.EllipticCurvePublicKey)
    numbers = (int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    key.verify(encode_dss_signature(*numbers), f"{head}.{body}".encode(), ec.ECDSA(hashes.SHA256()))
    assert json.loads(base64.urlsafe_b64decode(head + "==")) == {"alg": "ES256", "typ": "JWT"}
    claims: dict[str, Any] = json.loads(base64.urlsafe_b64decode(body + "=="))
    return claims


def test_tokens() -> None:
    secrets = fixed_secrets()
    tokens = build_tokens(secrets, timedelta(hours=36))
    for token, scheme in (
        (tokens.agent, "agentAuth"),
        (tokens.user, "userAuth"),
        (tokens.watcher, "watcherAuth"),
    ):
        issued = int(NOW.timestamp())
        assert _claims(token, tokens.public_key) == {
            "auth_scheme": scheme,
            "cluster_id": secrets.cluster_id,
            "iat": issued,
            "exp": issued + 36 * 3600,
        }
    assert build_tokens(secrets, timedelta(hours=36)) == tokens
    assert tokens.agent not in repr(tokens)
    later = build_tokens(renew_tokens(secrets, NOW + timedelta(days=9)))
    assert later.public_key == tokens.public_key
    assert later.agent != tokens.agent


@pytest.mark.parametrize(
    ("text", "hours"), [("7d", 168), ("36h", 36), ("1d12h", 36), ("2w", 336), ("90m", 1.5), ("3600s", 1)]
)
def test_durations(text: str, hours: float) -> None:
    assert parse_validity(text) == timedelta(hours=hours)


@pytest.mark.parametrize("text", ["", "7", "d", "7 d", "-7d", "1.5h", "7days", "1m", "9999w", "\u0667d"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(UserError):
        parse_validity(text)
