# SPDX-License-Identifier: Apache-2.0
"""What went wrong with a connection: nobody there, or somebody who is not to be believed."""

from __future__ import annotations

import os
import ssl

import aiohttp

from muster.client.snapshot import Trouble


def find_trouble(error: BaseException) -> Trouble:
    """What kind of trouble it is that no answer came."""
    if isinstance(error, aiohttp.ClientSSLError | ssl.SSLError):
        return Trouble.CERTIFICATE
    if isinstance(error, aiohttp.ClientResponseError):
        return Trouble.STRANGE
    return Trouble.SILENT


def words_of(error: BaseException) -> str:
    """The same in words."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        reason = getattr(error.certificate_error, "verify_message", "") or str(error.certificate_error)
        return f"its certificate is not accepted: {reason}"
    if isinstance(error, aiohttp.ClientSSLError | ssl.SSLError):
        return "what listens there does not speak TLS"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return f"the name {error.host} is not known"
    if isinstance(error, aiohttp.ClientConnectorError):
        number = error.os_error.errno  # None when several addresses were tried, or TLS was broken off.
        return os.strerror(number).lower() if number else "no connection"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return (str(error) or type(error).__name__).lower()
