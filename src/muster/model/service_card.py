# SPDX-License-Identifier: Apache-2.0
"""Where a service is and what its certificate is, for the console of its host: a small file."""

from __future__ import annotations

from typing import Final

import msgspec

CARD_FILE: Final = "service.json"
"""Beside the boards."""


class ServiceCard(msgspec.Struct, frozen=True):
    """What somebody needs who wants to open the page, and be sure that it is this one."""

    url: str
    fingerprint: str
    """SHA-256 of the certificate, as browsers show it."""
    authority: str
    """What other hosts trust it by (PEM)."""


def parse_card(data: bytes) -> ServiceCard | None:
    """The card in a file; None when there is none in it."""
    try:
        return msgspec.json.decode(data, type=ServiceCard)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
