# SPDX-License-Identifier: Apache-2.0
"""What a client asks a registry for, read from its request; pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Final

from muster.frozen import dataclass

_PART: Final = r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*"
_NAME: Final = re.compile(rf"{_PART}(?:/{_PART})*")
_LONGEST_NAME: Final = 255
_TAG: Final = re.compile(r"\w[\w.-]{0,127}", re.ASCII)
_ANY_DIGEST: Final = re.compile(r"[a-z0-9]+(?:[+._-][a-z0-9]+)*:[0-9a-zA-Z=_-]+")
_SHA256: Final = re.compile(r"sha256:[0-9a-f]{64}")


class Kind(StrEnum):
    """The parts of the API."""

    VERSION = ""
    CATALOG = "_catalog"
    MANIFEST = "manifests"
    BLOB = "blobs"
    TAGS = "tags"
    REFERRERS = "referrers"


@dataclass(frozen=True)
class Asked:
    """A request."""

    method: str
    path: str
    """Decoded."""
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    """By names in lower case."""

    @property
    def namespace(self) -> str:
        """The registry that the client would have asked without this mirror; containerd tells it."""
        return self.query.get("ns", "")


@dataclass(frozen=True)
class Target:
    """What a path names."""

    kind: Kind
    name: str = ""
    """The repository."""
    wanted: str = ""
    """A tag or a digest."""


def parse_target(path: str) -> Target | None:
    """What a path names; None when it is no path of the API. The parts are not checked."""
    if path in ("/v2", "/v2/"):
        return Target(Kind.VERSION)
    if path == "/v2/_catalog":
        return Target(Kind.CATALOG)
    if not path.startswith("/v2/"):
        return None
    head, _, wanted = path.removeprefix("/v2/").rpartition("/")
    name, _, kind = head.rpartition("/")
    if not name or kind not in (Kind.MANIFEST, Kind.BLOB, Kind.TAGS, Kind.REFERRERS):
        return None
    if kind == Kind.TAGS and wanted != "list":
        return None
    return Target(Kind(kind), name, wanted)


def is_name(text: str) -> bool:
    """Whether a repository can be called so."""
    return len(text) <= _LONGEST_NAME and _NAME.fullmatch(text) is not None


def is_tag(text: str) -> bool:
    return _TAG.fullmatch(text) is not None


def is_wellformed_digest(text: str) -> bool:
    """Whether a text is a digest, of whatever algorithm; one of sha256 has 64 digits."""
    if text.startswith("sha256:"):
        return _SHA256.fullmatch(text) is not None
    return _ANY_DIGEST.fullmatch(text) is not None
