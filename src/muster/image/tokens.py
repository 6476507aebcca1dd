# SPDX-License-Identifier: Apache-2.0
"""The tokens that hosts, users and watchers show to the service they meet at. They end by themselves."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from dataclasses import field
from datetime import timedelta
from typing import Final

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from muster.certificates.keys import PrivateKey, public_pem
from muster.errors import UserError
from muster.frozen import dataclass
from muster.image.secrets import KeyName, SiteSecrets
from muster.units import parse_span

VALID_FOR: Final = timedelta(days=7)
_SIZE: Final = 32
_SHORTEST: Final = timedelta(minutes=10)
_LONGEST: Final = timedelta(days=3650)


@dataclass(frozen=True)
class Tokens:
    """One token for each kind of caller, and the key that all of them are verified with."""

    agent: str = field(repr=False)
    user: str = field(repr=False)
    watcher: str = field(repr=False)
    public_key: str


def build_tokens(secrets: SiteSecrets, valid_for: timedelta = VALID_FOR) -> Tokens:
    """The tokens of a cluster, valid from the time that the secrets note for them."""
    key = secrets.private[KeyName.TOKENS]
    issued = int(secrets.tokens_issued.timestamp())
    claims = {"cluster_id": secrets.cluster_id, "exp": issued + int(valid_for.total_seconds()), "iat": issued}
    agent, user, watcher = (
        _sign({"auth_scheme": scheme, **claims}, key) for scheme in ("agentAuth", "userAuth", "watcherAuth")
    )
    return Tokens(agent, user, watcher, public_pem(key.public_key()))


def parse_validity(text: str) -> timedelta:
    """How long tokens are to be valid, as a flag says it."""
    span = parse_span(text)
    if not _SHORTEST <= span <= _LONGEST:
        raise UserError(f"{text} is not between 10m and 3650d", hint="choose a time span in between, like 7d")
    return span


def _sign(claims: dict[str, object], key: PrivateKey) -> str:
    """A JSON Web Token (ES256), with a deterministic signature: the same claims give the same token."""
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise TypeError("tokens are signed with ECDSA")
    head = _encode(json.dumps({"alg": "ES256", "typ": "JWT"}, separators=(",", ":")).encode())
    body = _encode(json.dumps(claims, separators=(",", ":"), sort_keys=True).encode())
    algorithm = ec.ECDSA(hashes.SHA256(), deterministic_signing=True)
    first, second = decode_dss_signature(key.sign(f"{head}.{body}".encode("ascii"), algorithm))
    signature = first.to_bytes(_SIZE, "big") + second.to_bytes(_SIZE, "big")
    return f"{head}.{body}.{_encode(signature)}"


def _encode(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")
