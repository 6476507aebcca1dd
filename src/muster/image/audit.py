# SPDX-License-Identifier: Apache-2.0
"""Which secrets a medium carries, by kind and place, without their values; on media of other tools, too."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import yaml
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from muster.redact import is_secret_key

_PRIVATE_KEY: Final = re.compile(
    r"-----BEGIN ([A-Z0-9 ]*)PRIVATE KEY-----.*?-----END [A-Z0-9 ]*PRIVATE KEY-----", re.S
)
_TOKEN: Final = re.compile(r"\beyJ[\w-]+\.(eyJ[\w-]+)\.[\w-]+")
_HASH: Final = re.compile(r"\$(2[abxy]|5|6|7|y|gy|argon2id)\$[\w./$=,+-]{20,}")
_LOGIN: Final = re.compile(r"\b\w+://[^/@\s:'\"]+:[^/@\s'\"]+@([\w.\[\]:-]+)")
_KEYFILE: Final = re.compile(r"^([\w.-]*(?:psk|password|passphrase|cak)[\w.-]*)=(?=\S)", re.M | re.I)


@dataclass(frozen=True, order=True)
class Secret:
    """A secret that was found."""

    place: str
    kind: str
    detail: str = ""


def audit(texts: Mapping[str, str]) -> tuple[Secret, ...]:
    """The secrets in texts, by the place where each text stands."""
    return tuple(sorted({found for place, text in texts.items() for found in _find(place, text)}))


def _find(place: str, text: str) -> Iterator[Secret]:
    for match in _PRIVATE_KEY.finditer(text):
        yield Secret(place, "private key", _describe_key(match[0]))
    for match in _TOKEN.finditer(text):
        yield Secret(place, "token", _describe_token(match[1]))
    if _HASH.search(text):
        yield Secret(place, "password hash")
    for match in _LOGIN.finditer(text):
        yield Secret(place, "login in a URL", f"for {match[1]}")
    for match in _KEYFILE.finditer(text):
        yield Secret(place, "network password", match[1])
    for document in _documents(text):
        yield from _walk(place, document, "", set())


def _documents(text: str) -> Iterator[Any]:
    """The text as YAML, of which JSON is a part, if it is a mapping in one of them."""
    try:
        found = list(yaml.load_all(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    except (yaml.YAMLError, ValueError, RecursionError):
        return
    yield from (document for document in found if isinstance(document, dict))


def _walk(place: str, value: Any, path: str, seen: set[int]) -> Iterator[Secret]:
    """The secrets below a value. Aliases may repeat a value any number of times; it is looked at once."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, list):
        for index, entry in enumerate(value):
            yield from _walk_entry(place, entry, f"{path}[{index}]", seen)
    elif isinstance(value, dict):
        if isinstance(value.get("auths"), dict):
            yield from (Secret(place, "registry login", f"for {host}") for host in value["auths"])
            value = {key: entry for key, entry in value.items() if key != "auths"}
        for key, entry in value.items():
            yield from _walk_entry(place, entry, f"{path}.{key}" if path else str(key), seen)


def _walk_entry(place: str, entry: Any, path: str, seen: set[int]) -> Iterator[Secret]:
    inner = _json_in(entry)
    key = path.rpartition(".")[2]
    if inner is not None:
        yield from _walk(place, inner, path, set())
    elif isinstance(entry, dict | list):
        yield from _walk(place, entry, path, seen)
    elif isinstance(entry, str) and entry and is_secret_key(key) and not _is_known(entry):
        yield Secret(place, "password", path)


def _json_in(entry: Any) -> Any:
    """The document that a text is, plain or in base64, as pull secrets and annotations have it."""
    if not isinstance(entry, str):
        return None
    for text in (entry, _decoded(entry)):
        if text.lstrip()[:1] in ("{", "["):
            try:
                return json.loads(text)
            except (ValueError, RecursionError):
                continue
    return None


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        return ""


def _is_known(text: str) -> bool:
    """Whether a value is found by how it looks."""
    return any(pattern.search(text) for pattern in (_PRIVATE_KEY, _TOKEN, _HASH))


def _describe_key(pem: str) -> str:
    try:
        key = load_pem_private_key(pem.encode(), password=None)
    except (ValueError, TypeError):
        return "encrypted, or of an unknown kind"
    if isinstance(key, rsa.RSAPrivateKey):
        return f"RSA {key.key_size}"
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return f"ECDSA {key.curve.name}"
    return type(key).__name__.removesuffix("PrivateKey")


def _describe_token(claims: str) -> str:
    try:
        body = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
    except (binascii.Error, ValueError):
        return ""
    if not isinstance(body, dict):
        return ""
    role = f"for {body['auth_scheme']}, " if isinstance(body.get("auth_scheme"), str) else ""
    expires = body.get("exp")
    if not isinstance(expires, int | float):
        return f"{role}never expires"
    return f"{role}valid until {datetime.fromtimestamp(expires, UTC):%Y-%m-%d %H:%M} UTC"
