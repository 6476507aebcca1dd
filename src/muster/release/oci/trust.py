# SPDX-License-Identifier: Apache-2.0
"""Whom we believe when TLS is spoken: the authorities of the system, and those that a site adds."""

from __future__ import annotations

import ssl
from collections.abc import Sequence

from muster.errors import UserError


def build_context(authorities: Sequence[str]) -> ssl.SSLContext:
    """How TLS is spoken: verified, always; the authorities are texts in PEM form."""
    context = ssl.create_default_context()
    for text in authorities:
        try:
            context.load_verify_locations(cadata=text)
        except (ssl.SSLError, ValueError) as error:
            raise UserError(
                "the extra trust bundle has no certificate that can be read",
                hint="it has to be text in PEM form: -----BEGIN CERTIFICATE-----",
            ) from error
    return context


def build_open_context() -> ssl.SSLContext:
    """For registries that somebody called insecure: whoever answers is believed."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
