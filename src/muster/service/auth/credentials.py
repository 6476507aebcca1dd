# SPDX-License-Identifier: Apache-2.0
"""Where callers put their tokens: each kind of client has a place of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Final
from urllib.parse import parse_qsl

from msgspec import Struct

from muster.service.auth.personas import Scope
from muster.service.auth.sessions import parse_cookie

_HEADERS: Final = (b"authorization", b"x-secret-key", b"watcher-authorization", b"image-token")
_QUERY: Final = ("api_key", "image_token")
_UNSIGNED: Final = (*_QUERY, "mac")
"""What a signed address does not cover: the token itself, and the card that iPXE adds to it."""
_IDS: Final = ("infra_env_id", "cluster_id", "host_id")
_BEARER: Final = "bearer "


class Place(StrEnum):
    """How a token came."""

    HEADER = "header"
    COOKIE = "cookie"
    QUERY = "query"


class Credential(Struct, frozen=True):
    """A token as it came."""

    text: str
    place: Place

    def __repr__(self) -> str:
        return f"Credential({self.place})"


class Knock(Struct, frozen=True):
    """What a request says about itself, as far as it matters here."""

    method: str
    path: str
    query: bytes
    headers: Sequence[tuple[bytes, bytes]]
    """Names in lower case, as ASGI has them."""
    ids: Mapping[str, str]
    """What stood in the path in the place of its names."""


def find_credentials(headers: Iterable[tuple[bytes, bytes]], query: bytes) -> list[Credential]:
    """Every token that a request carries: headers first, addresses last, because those are written down."""
    found, cookies = [], []
    for name, value in headers:
        if name in _HEADERS:
            text = value.decode("latin-1").strip()
            if text[:7].lower() == _BEARER:
                text = text[7:].strip()
            found.append(Credential(text, Place.HEADER))
        elif name == b"cookie":
            cookies.append(Credential(parse_cookie(value.decode("latin-1")), Place.COOKIE))
    signed = [Credential(value, Place.QUERY) for name, value in pairs(query) if name in _QUERY]
    return [each for each in (*found, *cookies, *signed) if each.text]


def link_of(path: str, query: bytes) -> str:
    """The address of a request without its token: what a signed one is signed for."""
    parts = [part for part in query.decode("latin-1").split("&") if part.partition("=")[0] not in _UNSIGNED]
    rest = "&".join(part for part in parts if part)
    return f"{path}?{rest}" if rest else path


def asked_of(ids: Mapping[str, str], query: bytes) -> Scope | None:
    """What a request is about; None when its path and its query name different things."""
    named = [(name, value) for name, value in pairs(query) if name in _IDS and value]
    wanted = {name: ids[name] for name in _IDS if name in ids}
    for name, value in named:
        if wanted.setdefault(name, value) != value:
            return None
    return Scope(**wanted)


def pairs(query: bytes) -> Sequence[tuple[str, str]]:
    """The names and values of a query."""
    return _parse(query) if query else ()


@lru_cache(maxsize=16)  # One request is looked at several times.
def _parse(query: bytes) -> tuple[tuple[str, str], ...]:
    return tuple(parse_qsl(query.decode("latin-1"), keep_blank_values=True))
