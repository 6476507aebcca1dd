# SPDX-License-Identifier: Apache-2.0
"""What a service tells the consoles of its host: where it is, by what it is known, how to log in."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

CARD_FILE: Final = "service.json"
"""Beside the boards."""
LOGIN_FILE: Final = "login-secret"
"""Beside the boards, for root alone and by its name in no bundle: the code that the consoles show."""


class ServiceCard(msgspec.Struct, frozen=True):
    """Where a service is, and by what people and hosts know it."""

    url: str
    fingerprint: str
    """Of its certificate (SHA-256), as browsers show it."""
    authority: str
    """The certificate (PEM) of who signed that one."""


class LoginCode(msgspec.Struct, frozen=True):
    """The code of this moment that lets somebody log in once who stands before a host."""

    code: str
    until: datetime


def parse_card(data: bytes) -> ServiceCard | None:
    """What a service says of itself; None when it says nothing that can be read."""
    try:
        return msgspec.json.decode(data, type=ServiceCard)
    except msgspec.DecodeError:
        return None


def parse_login(data: bytes) -> LoginCode | None:
    """The code of this moment; None when there is none."""
    try:
        return msgspec.json.decode(data, type=LoginCode)
    except msgspec.DecodeError:
        return None
