# SPDX-License-Identifier: Apache-2.0
"""Certificates from outside."""

from __future__ import annotations

import ssl

import pytest

from muster.certificates.parse import parse_certificate, parse_certificates
from muster.lab.sim.stand_ins import INGRESS
from muster.service.preparing import parse_authorities
from muster.service.refusals import BadRequest

V3 = bytes.fromhex("a003020102")


def of_unknown_version() -> str:
    der = ssl.PEM_cert_to_DER_cert(INGRESS)
    assert V3 in der
    return ssl.DER_cert_to_PEM_cert(der.replace(V3, V3[:-1] + b"\x22", 1))


def test_reads_one_or_all_certificates() -> None:
    assert [parse_certificate(INGRESS.encode())] * 2 == parse_certificates((INGRESS * 2).encode())


@pytest.mark.parametrize("text", ["", "not PEM", INGRESS[:200], of_unknown_version()])
def test_refuses_with_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # The kind is the contract, not the message.
        parse_certificate(text.encode())


def test_an_authority_of_an_unknown_version_is_a_bad_request() -> None:
    with pytest.raises(BadRequest, match="not a certificate"):
        parse_authorities(of_unknown_version())
