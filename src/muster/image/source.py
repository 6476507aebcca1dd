# SPDX-License-Identifier: Apache-2.0
"""What a user writes to name a base image: a path or a URL, with or without the hash it has to have."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult, quote, unquote, urlsplit, urlunsplit

from muster.errors import UserError
from muster.frozen import dataclass
from muster.redact import redact

if TYPE_CHECKING:
    from muster.image.cache.store import Cache
    from muster.image.download.http import Fetch
    from muster.progress import Progress

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_HASH: Final = re.compile(r"[0-9a-f]{64}")
_PATH_WITH_HASH: Final = re.compile(r"(.+)\?sha256=([^?]*)")
_LOGIN: Final = re.compile(r"[^@\[\]]*:(?!\d*$)[^@]*")
"""A login without its end: what stands where a port should is none."""
_UNSENDABLE: Final = re.compile(r"[\x00-\x20\x7f]")
_HTTP: Final = ("http", "https")
_HIDDEN_QUERY: Final = "…"


@dataclass(frozen=True)
class Source:
    """Where a base image comes from."""

    scheme: str
    """Empty for a path."""
    location: str
    """The path, or the URL to ask for, with its login but without `sha256=`."""
    shown: str
    """The same, fit for messages: no login, no query."""
    sha256: str = ""
    """What the file has to hash to; empty when nobody said."""

    @property
    def name(self) -> str:
        """What the file is called."""
        return unquote(self.shown.partition("?")[0].rstrip("/").rpartition("/")[2]) or self.shown


def parse_source(text: str, expected: str = "") -> Source:
    """Read a source and the hash that was given apart from it; both hashes have to agree."""
    if not text.strip():
        raise UserError("the base image is empty", hint="name a path or a URL with --base-image")
    match = _SCHEME.match(text)
    if match is None:
        path, given = _split_path(text)
        found = Source("", path, path, parse_sha256(given) if given else "")
    elif match[1].lower() in _HTTP:
        found = _parse_url(text)
    else:
        found = _parse_other(text, match[1].lower())
    wanted = parse_sha256(expected) if expected else ""
    if wanted and found.sha256 and wanted != found.sha256:
        raise UserError(
            f"two different hashes are given for {found.shown}: {wanted} and {found.sha256}",
            hint="give one of them: with --base-image-sha256, or as ?sha256=",
        )
    return Source(found.scheme, found.location, found.shown, wanted or found.sha256)


def parse_sha256(text: str) -> str:
    """A SHA-256 in hexadecimal, with or without `sha256:` before it."""
    value = text.strip().lower().removeprefix("sha256:")
    if not _HASH.fullmatch(value):
        raise UserError(
            f"{redact(text)!r} is not a SHA-256: it has to have 64 hexadecimal digits, not {len(value)}",
            hint="`sha256sum FILE` prints it, and publishers list it beside the download",
        )
    return value


def _split_path(text: str) -> tuple[str, str]:
    match = _PATH_WITH_HASH.fullmatch(text)
    return (match[1], match[2]) if match else (text, "")


def _parse_url(text: str) -> Source:
    parts = _split_url(text)
    kept, given = [], ""
    for pair in parts.query.split("&") if parts.query else []:
        key, _, value = pair.partition("=")
        if key == "sha256":
            given = unquote(value)
        else:
            kept.append(pair)
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
    query = quote("&".join(kept), safe="/%:@!$&'()*+,;=~-._?")
    url = urlunsplit((parts.scheme.lower(), parts.netloc, path, query, ""))
    sha256 = parse_sha256(given) if given else ""
    return Source(parts.scheme.lower(), url, shown_url(url), sha256)


def _split_url(text: str) -> SplitResult:
    shown = shown_url(text)
    if _UNSENDABLE.search(text):
        raise UserError(f"{shown!r} has a space or a control character in it", hint="write a space as %20")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise UserError(f"{shown} is not a URL", hint="write it as https://HOST[:PORT]/PATH") from error
    if not parts.hostname or port == 0:
        raise UserError(f"{shown} names no host", hint="write it as https://HOST[:PORT]/PATH")
    return parts


def _parse_other(text: str, scheme: str) -> Source:
    """A scheme that is not HTTP's; whoever opens it understands the rest."""
    rest = text.partition("://")[2]
    location, given = _split_path(rest)
    shown = f"{scheme}://{location.rpartition('@')[2]}"
    return Source(scheme, location, shown, parse_sha256(given) if given else "")


def shown_url(url: str) -> str:
    """A URL without what may be secret: its login, and the values of its query."""
    head, _, query = url.partition("#")[0].partition("?")
    scheme, slashes, rest = head.partition("://")
    host, slash, path = rest.partition("/")
    if "@" in path and _LOGIN.fullmatch(host):
        # A password with a slash in it: whatever stands before the last @ is hidden.
        host, slash, path = path.rpartition("@")[2], "", ""
    shown = f"{scheme}{slashes}{host.rpartition('@')[2]}{slash}{path}"
    return f"{shown}?{_HIDDEN_QUERY}" if query else shown


@dataclass(frozen=True)
class Remote:
    """What it takes to obtain an image that is not here."""

    cache: Cache
    fetch: Fetch
    progress: Progress
    sleep: Callable[[float], None]
