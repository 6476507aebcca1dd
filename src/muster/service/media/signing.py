# SPDX-License-Identifier: Apache-2.0
"""Addresses that let whoever has them fetch the media of one infra-env, for a few hours.

A firmware cannot log in, so the address itself is the login: it carries a token. Everything that is needed to
judge it is in it, but for the name of the infra-env's current key: a new name makes all older tokens void.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final
from urllib.parse import quote

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

from muster.errors import UserError
from muster.frozen import dataclass
from muster.service.media.bases import rpm_name
from muster.service.media.order import Kind

VALID_FOR: Final = timedelta(hours=4)
_ALGORITHM: Final = "ES256"
_AUDIENCE: Final = "muster-media"
_NEEDED: Final = ("exp", "sub", "aud", "key_id")
FILES: Final = {
    Kind.FULL: "full.iso",
    Kind.MINIMAL: "minimal.iso",
    Kind.DISCONNECTED: "disconnected.iso",
    Kind.INITRD: "pxe-initrd",
}
"""What the last word of an address says is wanted."""
Clock = Callable[[], datetime]


class Reason(StrEnum):
    """Why an address is refused."""

    FORGED = "it was not made by this service, or was changed"
    EXPIRED = "it has expired"
    REVOKED = "the signing key of the infra-env was made anew since"
    OTHER = "it is for another infra-env"
    MISSING = "it carries no token"


class AddressRefused(UserError):
    """An address that does not let anybody in."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(
            f"this address cannot be used: {reason}",
            hint="ask the service for a new one: GET infra-envs/{id}/downloads/image-url",
        )
        self.reason = reason


@dataclass(frozen=True)
class Signed:
    """An address, and until when it can be used."""

    url: str
    expires_at: datetime


@dataclass(frozen=True)
class Place:
    """What an address is for."""

    infra_env_id: str
    kind: Kind
    version: str
    architecture: str


class Signer:
    """Makes and judges tokens, with one key for all infra-envs of a service."""

    def __init__(
        self, key: ec.EllipticCurvePrivateKey, clock: Clock, valid_for: timedelta = VALID_FOR
    ) -> None:
        if not isinstance(key.curve, ec.SECP256R1):
            raise TypeError("ES256 needs a key of the curve P-256")
        self._key = key
        self._public = key.public_key()
        self._clock = clock
        self._valid_for = valid_for

    def sign(self, infra_env_id: str, key_id: str) -> tuple[str, datetime]:
        """A token for the media of an infra-env, and when it ends."""
        ends = self._clock().astimezone(UTC).replace(microsecond=0) + self._valid_for
        claims = {
            "aud": _AUDIENCE,
            "exp": int(ends.timestamp()),
            "infra_env_id": infra_env_id,
            "key_id": key_id,
            "sub": infra_env_id,
        }
        return jwt.encode(claims, self._key, _ALGORITHM), ends

    def address(self, media_url: str, place: Place, key_id: str) -> Signed:
        """Where something of an infra-env can be fetched without a login."""
        token, ends = self.sign(place.infra_env_id, key_id)
        version = quote(place.version or "any", safe="")
        path = f"byapikey/{token}/{version}/{rpm_name(place.architecture)}/{FILES[place.kind]}"
        return Signed(f"{media_url.rstrip('/')}/{path}", ends)

    def check(self, token: str, find_key_id: Callable[[str], str | None]) -> str:
        """The infra-env that a token is for; an unknown one is not told from a revoked token."""
        try:
            claims = jwt.decode(
                token,
                self._public,
                [_ALGORITHM],
                audience=_AUDIENCE,
                options={"require": list(_NEEDED), "verify_exp": False},
            )
            infra_env_id, ends, key_id = claims["sub"], claims["exp"], claims["key_id"]
        except (jwt.PyJWTError, ValueError) as error:
            raise AddressRefused(Reason.FORGED) from error
        if not isinstance(ends, int) or self._clock().timestamp() >= ends:
            raise AddressRefused(Reason.EXPIRED)
        current = find_key_id(infra_env_id)
        if current is None or not hmac.compare_digest(str(key_id).encode(), current.encode()):
            raise AddressRefused(Reason.REVOKED)
        return str(infra_env_id)
