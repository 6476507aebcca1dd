# SPDX-License-Identifier: Apache-2.0
"""Everything random of one cluster, made once and kept: all other cryptography follows from it.

Certificates, tokens and the kubeconfig are derived from these secrets without any further randomness, so
that the same secrets give the same bytes on any day and on any machine.
"""

from __future__ import annotations

import base64
import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import field, fields, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property
from typing import Final

import bcrypt
from cryptography.exceptions import UnsupportedAlgorithm

from muster.certificates.keys import P256, PrivateKey, Random, make_key, parse_key, render_key, spec_of
from muster.errors import UserError
from muster.frozen import dataclass
from muster.model.pki import KeySpec

VERSION: Final = 1
_LETTERS: Final = "abcdefghijkmnopqrstuvwxyzABCDEFGHIJKLMNPQRSTUVWXYZ23456789"
"""Of a password: none that is easily taken for another one (no l, O, 0, 1)."""
_SUFFIX_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
"""Of the end of an infra id: no vowels, so that no word comes out."""
_GROUP: Final = 5
_GROUPS: Final = 4
_COST: Final = 4
"""Of bcrypt: docs/adr/0007 tells why the least is enough."""
_BCRYPT_ALPHABET: Final = b"./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_BASE64_ALPHABET: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_TIME: Final = "%Y-%m-%dT%H:%M:%SZ"
_PASSWORD: Final = re.compile(rf"[{_LETTERS}]{{5}}(?:-[{_LETTERS}]{{5}}){{3}}\Z")
_SUFFIX: Final = re.compile(rf"[{_SUFFIX_LETTERS}]{{{_GROUP}}}\Z")
_HASH: Final = re.compile(r"\$2[aby]\$(?:0[4-9]|1[0-2])\$[./A-Za-z0-9]{53}\Z")
"""With a cost of up to 12, as people choose it; one of 31 would take days to compare."""
_YEARS: Final = range(2000, 2101)
"""All that certificates and the dates on an ISO can be counted from."""


class KeyName(StrEnum):
    """What a private key is for."""

    LB_SIGNER = "kube-apiserver-lb-signer"
    LOCALHOST_SIGNER = "kube-apiserver-localhost-signer"
    SERVICE_NETWORK_SIGNER = "kube-apiserver-service-network-signer"
    ADMIN_SIGNER = "admin-kubeconfig-signer"
    ADMIN_CLIENT = "admin-kubeconfig-client"
    INGRESS_SIGNER = "ingress-signer"
    SERVICE_CA = "service-ca"
    SERVICE = "service"
    TOKENS = "tokens"


SIGNERS: Final = (
    KeyName.LB_SIGNER,
    KeyName.LOCALHOST_SIGNER,
    KeyName.SERVICE_NETWORK_SIGNER,
    KeyName.ADMIN_SIGNER,
    KeyName.INGRESS_SIGNER,
)
"""Authorities of the cluster: install-config.yaml says what kind of key they get."""


@dataclass(frozen=True)
class SiteSecrets:
    """The secrets of one cluster. Nothing of it shows in a repr."""

    created: datetime
    cluster_id: str
    infra_env_id: str
    infra_id_suffix: str
    kubeadmin_password: str = field(repr=False)
    kubeadmin_password_hash: str = field(repr=False)
    keys: Mapping[KeyName, str] = field(repr=False)
    """Private keys as PEM."""
    tokens_issued: datetime

    @cached_property
    def private(self) -> Mapping[KeyName, PrivateKey]:
        """The private keys themselves."""
        return {name: _loaded(name, text) for name, text in self.keys.items()}

    @cached_property
    def signer_spec(self) -> KeySpec:
        """The kind of key that the cluster's authorities have."""
        return spec_of(self.private[KeyName.LB_SIGNER])


def make_secrets(random: Random, now: datetime, spec: KeySpec = P256) -> SiteSecrets:
    """New secrets. With ECDSA keys they follow from the random bytes and the time alone."""
    password = _make_password(random)
    private = {name: make_key(spec if name in SIGNERS else P256, random) for name in KeyName}
    created = now.astimezone(UTC).replace(microsecond=0)
    made = SiteSecrets(
        created=created,
        cluster_id=str(uuid.UUID(bytes=random(16), version=4)),
        infra_env_id=str(uuid.UUID(bytes=random(16), version=4)),
        infra_id_suffix=_choose(random, _SUFFIX_LETTERS, _GROUP),
        kubeadmin_password=password,
        kubeadmin_password_hash=_hash(password, random(16)),
        keys={name: render_key(key) for name, key in private.items()},
        tokens_issued=created,
    )
    made.__dict__["private"] = private  # What the cached property would read back from the PEM.
    return made


def renew_tokens(secrets: SiteSecrets, now: datetime) -> SiteSecrets:
    """The same secrets, with tokens that are valid from now on."""
    return replace(secrets, tokens_issued=now.astimezone(UTC).replace(microsecond=0))


def _make_password(random: Random) -> str:
    letters = _choose(random, _LETTERS, _GROUP * _GROUPS)
    return "-".join(letters[start : start + _GROUP] for start in range(0, len(letters), _GROUP))


def _choose(random: Random, letters: str, count: int) -> str:
    """So many letters, each as likely as any other: bytes that would prefer some are passed over."""
    limit = 256 - 256 % len(letters)
    chosen = ""
    while len(chosen) < count:
        usable = [byte for byte in random(2 * count) if byte < limit]
        chosen += "".join(letters[byte % len(letters)] for byte in usable)
    return chosen[:count]


def _hash(password: str, salt: bytes) -> str:
    text = base64.b64encode(salt).rstrip(b"=").translate(bytes.maketrans(_BASE64_ALPHABET, _BCRYPT_ALPHABET))
    return bcrypt.hashpw(password.encode("ascii"), b"$2a$%02d$%b" % (_COST, text)).decode("ascii")


def dump_secrets(secrets: SiteSecrets) -> dict[str, object]:
    """The secrets as plain data, for the state file."""
    return {
        "version": VERSION,
        "created": secrets.created.strftime(_TIME),
        "cluster_id": secrets.cluster_id,
        "infra_env_id": secrets.infra_env_id,
        "infra_id_suffix": secrets.infra_id_suffix,
        "kubeadmin_password": secrets.kubeadmin_password,
        "kubeadmin_password_hash": secrets.kubeadmin_password_hash,
        "keys": {str(name): text for name, text in secrets.keys.items()},
        "tokens_issued": secrets.tokens_issued.strftime(_TIME),
    }


def parse_secrets(body: object, where: str) -> SiteSecrets:
    """Secrets from plain data; a UserError that names ``where`` when they are not whole."""
    known = {"version", *(each.name for each in fields(SiteSecrets))}
    if not isinstance(body, dict):
        raise _damaged(where, "they are not a mapping")
    if body.get("version") != VERSION:
        raise _damaged(
            where, f"their format has version {body.get('version')!r}, this Muster reads {VERSION}"
        )
    wrong = sorted(known ^ set(map(str, body)))
    if wrong:
        raise _damaged(where, f"{wrong[0]} is {'missing' if wrong[0] in known else 'not known'}")
    made = SiteSecrets(
        created=_time(body, "created", where),
        cluster_id=_text(body, "cluster_id", where, _is_uuid),
        infra_env_id=_text(body, "infra_env_id", where, _is_uuid),
        infra_id_suffix=_text(body, "infra_id_suffix", where, _SUFFIX.match),
        kubeadmin_password=_text(body, "kubeadmin_password", where, _PASSWORD.match),
        kubeadmin_password_hash=_text(body, "kubeadmin_password_hash", where, _HASH.match),
        keys=_keys(body["keys"], where),
        tokens_issued=_time(body, "tokens_issued", where),
    )
    _check_password(made, where)
    return made


def _check_password(made: SiteSecrets, where: str) -> None:
    password, hashed = made.kubeadmin_password, made.kubeadmin_password_hash
    try:
        is_same = bcrypt.checkpw(password.encode("ascii"), hashed.encode("ascii"))
    except ValueError as error:
        raise _damaged(where, "kubeadmin_password_hash does not have its form") from error
    if not is_same:
        raise _damaged(where, "kubeadmin_password_hash is that of another password")


def check_spec(secrets: SiteSecrets, spec: KeySpec, where: str) -> None:
    """A UserError when the authorities have other keys than the site asks for."""
    if secrets.signer_spec != spec:
        raise UserError(
            f"the kept secrets have {secrets.signer_spec} keys, and install-config.yaml asks for {spec}",
            hint=f"undo the change of pki, or start anew: move {where} away, which makes a new cluster",
        )


def _damaged(where: str, what: str) -> UserError:
    return UserError(
        f"the secrets in {where} cannot be used: {what}",
        hint="bring back a copy of that file; without one, move it away, which makes a new cluster",
    )


def _text(body: Mapping[str, object], name: str, where: str, is_good: Callable[[str], object]) -> str:
    found = body[name]
    if not isinstance(found, str) or not is_good(found):
        raise _damaged(where, f"{name} does not have its form")
    return found


def _time(body: Mapping[str, object], name: str, where: str) -> datetime:
    try:
        found = datetime.strptime(_text(body, name, where, len), _TIME).replace(tzinfo=UTC)
    except ValueError as error:
        raise _damaged(where, f"{name} is no time like 2026-01-31T12:00:00Z") from error
    if found.year not in _YEARS:
        raise _damaged(where, f"{name} is not between {_YEARS[0]} and {_YEARS[-1]}")
    return found


def _is_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False


def _keys(body: object, where: str) -> Mapping[KeyName, str]:
    names = {str(name) for name in KeyName}
    if not isinstance(body, dict) or set(body) != names:
        raise _damaged(where, "the list of keys is not complete")
    for name, text in body.items():
        key = _find_key(text) if isinstance(text, str) else None
        if key is None:
            raise _damaged(where, f"the key {name} is not a private key")
        if name not in SIGNERS and spec_of(key) != P256:
            raise _damaged(where, f"the key {name} is not one on the curve P-256")
    return {KeyName(name): text for name, text in body.items()}


def _find_key(text: str) -> PrivateKey | None:
    try:
        return parse_key(text)
    except UnsupportedAlgorithm:
        return None


def _loaded(name: KeyName, text: str) -> PrivateKey:
    key = parse_key(text)
    if key is None:
        raise ValueError(f"the key {name} is not a private key")
    return key
