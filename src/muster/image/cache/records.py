# SPDX-License-Identifier: Apache-2.0
"""The small JSON files of the cache. One that cannot be read counts as not there: nothing depends on it."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from muster.files import save_file
from muster.frozen import dataclass


@dataclass(frozen=True)
class ImageRecord:
    """What is known of an image; every field of a record has a default that tells its type."""

    sha256: str = ""
    size_bytes: int = 0
    origins: tuple[str, ...] = ()
    """Where it came from, without logins and queries."""
    fetched_at: str = ""
    used_at: str = ""
    packed_sha256: str = ""
    """The hash of the compressed file that it came in."""
    fingerprint: str = ""
    """How the file looked when its content was last known to be right."""


@dataclass(frozen=True)
class UrlRecord:
    """What a URL gave when it was last asked."""

    url: str = ""
    sha256: str = ""
    etag: str = ""
    last_modified: str = ""
    checked_at: str = ""


@dataclass(frozen=True)
class PartRecord:
    """What is known of a download that is not complete."""

    url: str = ""
    etag: str = ""
    last_modified: str = ""
    total_bytes: int = 0
    """0 when the server does not say."""
    started_at: str = ""

    @property
    def validator(self) -> str:
        """What makes sure that the rest is of the same file; RFC 9110 forbids weak tags for it."""
        return self.etag if self.etag and not self.etag.startswith("W/") else self.last_modified


@dataclass(frozen=True)
class HashRecord:
    """What a local file hashed to."""

    path: str = ""
    fingerprint: str = ""
    sha256: str = ""
    size_bytes: int = 0


R = TypeVar("R", ImageRecord, UrlRecord, PartRecord, HashRecord)


def find_record(path: Path, kind: type[R]) -> R | None:
    """Read a record; None when there is none, or none that makes sense."""
    try:
        body = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(body, dict):
        return None
    values: dict[str, Any] = {}
    for field in fields(kind):
        value = body.get(field.name, field.default)
        if isinstance(field.default, tuple) and isinstance(value, (list, tuple)):
            value = tuple(item for item in value if isinstance(item, str))
        if type(value) is not type(field.default):
            return None
        values[field.name] = value
    return kind(**values)


def save_record(path: Path, record: ImageRecord | UrlRecord | PartRecord | HashRecord) -> None:
    """Write a record as a whole."""
    save_file(path, json.dumps(asdict(record), indent=2).encode() + b"\n")


def render_time(moment: datetime) -> str:
    """A point in time as records keep it."""
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def find_time(text: str) -> datetime | None:
    """The point in time of a record, if it tells one."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
