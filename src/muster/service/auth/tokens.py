# SPDX-License-Identifier: Apache-2.0
"""Tokens: who somebody is and what for, signed (JWT, ES256).

Those that this service makes always expire. Those of an image that `openshift-install agent` made say only
which persona they are for, and may not expire; they are accepted when their public key was configured.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from typing import Any, Final

import jwt
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA
from cryptography.hazmat.primitives.hashes import SHA256
from jwt.types import Options
from jwt.utils import der_to_raw_signature
from msgspec import Struct, ValidationError, convert, json, structs

from muster.service.auth.keys import KeyRing
from muster.service.auth.personas import Grant, Persona, Scope

ALGORITHM: Final = "ES256"
ISSUER: Final = "muster"
MAX_LENGTH: Final = 4096
MAX_REMEMBERED: Final = 4096
_SCHEMES: Final = {
    "userAuth": Persona.USER,
    "agentAuth": Persona.MEDIUM,
    "watcherAuth": Persona.WATCHER,
}
_OLD_AGENT: Final = "agent"
_NO_CHECKS: Final[Options] = {
    "verify_exp": False,
    "verify_nbf": False,
    "verify_iat": False,
    "verify_aud": False,
}
"""Dates are compared with the clock that is passed in, and not with one of the library's choice."""


class Refusal(Struct, frozen=True):
    """Why a token is not accepted, in words that do not repeat it."""

    reason: str


class _Claims(Struct, frozen=True, omit_defaults=True):
    iss: str
    persona: str
    exp: float
    infra_env_id: str | None = None
    cluster_id: str | None = None
    host_id: str | None = None
    link: str = ""
    epoch: int = 0
    sid: str = ""


_GARBLED: Final = Refusal("the token is garbled")
_EXPIRED: Final = Refusal("the token has expired")
_UNKNOWN: Final = Refusal("the token was signed by somebody else")


class Tokens:
    """Makes and reads tokens. What was read once is remembered: hosts call with the same one all the time."""

    def __init__(self, keys: KeyRing) -> None:
        self._keys = keys
        self._remembered: dict[str, Grant] = {}

    def issue(self, grant: Grant) -> str:
        """The token for a grant, which has to expire."""
        if grant.expires is None:
            raise ValueError("a token that this service makes expires")
        if grant.scope.host_id and not grant.scope.infra_env_id:
            raise ValueError("a host is known by its infra-env and its id together")
        claims = _Claims(
            iss=ISSUER,
            persona=grant.persona,
            exp=int(grant.expires),
            link=grant.link,
            epoch=grant.epoch,
            sid=grant.session,
            **structs.asdict(grant.scope),
        )
        # An empty scope is as good as none, and shorter.
        body = {name: value for name, value in structs.asdict(claims).items() if value not in (None, "", 0)}
        return self._sign({"typ": "JWT", "alg": ALGORITHM, "kid": self._keys.signing_id}, body)

    def _sign(self, *parts: Mapping[str, Any]) -> str:
        """The same claims give the same token: media carry one, and are made anew for each piece."""
        signed = ".".join(_encode(json.encode(part)) for part in parts)
        key = self._keys.signing
        made = key.sign(signed.encode("ascii"), ECDSA(SHA256(), deterministic_signing=True))
        return f"{signed}.{_encode(der_to_raw_signature(made, key.curve))}"

    def read(self, text: str, now: float) -> Grant | Refusal:
        """What a token says, or why it is not accepted."""
        grant = self._remembered.get(text)
        if grant is None:
            found = self._verify(text)
            if isinstance(found, Refusal):
                return found
            self._remember(text, grant := found)
        return grant if grant.expires is None or grant.expires > now else _EXPIRED

    def _remember(self, text: str, grant: Grant) -> None:
        if len(self._remembered) >= MAX_REMEMBERED:
            # The first that came goes: those in use come back with their next request.
            del self._remembered[next(iter(self._remembered))]
        self._remembered[text] = grant

    def _verify(self, text: str) -> Grant | Refusal:
        if len(text) > MAX_LENGTH:
            return _GARBLED
        try:
            header = jwt.get_unverified_header(text)
        except (jwt.InvalidTokenError, ValueError):
            return _GARBLED
        if header.get("alg") != ALGORITHM:
            return Refusal(f"the token is not signed with {ALGORITHM}")
        own = self._keys.own.get(str(header.get("kid")))
        if own is not None:
            claims = _decode(text, own)
            return claims if isinstance(claims, Refusal) else _read_own(claims)
        for key in self._keys.foreign:
            claims = _decode(text, key)
            if not isinstance(claims, Refusal):
                return _read_foreign(claims)
        return _UNKNOWN


def _encode(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _decode(text: str, key: Any) -> Mapping[str, Any] | Refusal:
    try:
        claims: Mapping[str, Any] = jwt.decode(text, key, [ALGORITHM], options=_NO_CHECKS)
    except jwt.InvalidSignatureError:
        return _UNKNOWN
    except (jwt.InvalidTokenError, ValueError):
        return _GARBLED
    return claims


def _read_own(claims: Mapping[str, Any]) -> Grant | Refusal:
    try:
        said = convert(claims, _Claims)
    except ValidationError:
        return _GARBLED
    persona = _persona_of(said)
    if said.iss != ISSUER or persona is None or (said.host_id and not said.infra_env_id):
        return _GARBLED
    return Grant(
        persona=persona,
        scope=Scope(said.infra_env_id, said.cluster_id, said.host_id),
        expires=said.exp,
        link=said.link,
        epoch=said.epoch,
        session=said.sid,
    )


def _persona_of(said: _Claims) -> Persona | None:
    """The role that a token names; older media name `agent` for both hosts and media."""
    if said.persona == _OLD_AGENT:
        return Persona.HOST if said.host_id else Persona.MEDIUM
    try:
        persona = Persona(said.persona)
    except ValueError:
        return None
    return None if persona is Persona.ANYONE else persona


def _read_foreign(claims: Mapping[str, Any]) -> Grant | Refusal:
    persona = _SCHEMES.get(str(claims.get("auth_scheme")))
    if persona is None:
        return Refusal("the token does not say which persona it is for")
    expires = claims.get("exp")
    if expires is not None and (isinstance(expires, bool) or not isinstance(expires, int | float)):
        return _GARBLED
    return Grant(persona=persona, expires=expires)
