# SPDX-License-Identifier: Apache-2.0
"""Reading certificates in PEM that may come from anywhere: ValueError is the only exception."""

from __future__ import annotations

from cryptography import x509


def parse_certificate(pem: bytes) -> x509.Certificate:
    """The first certificate of a text in PEM."""
    return parse_certificates(pem)[0]


def parse_certificates(pem: bytes) -> list[x509.Certificate]:
    """All certificates of a text in PEM, at least one."""
    try:
        return x509.load_pem_x509_certificates(pem)
    except x509.InvalidVersion as error:  # Not a ValueError, unlike all other defects.
        raise ValueError(str(error)) from error
