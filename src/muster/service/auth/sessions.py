# SPDX-License-Identifier: Apache-2.0
"""What a person has after the login: a token that ends by itself, and that they can end before.

A browser keeps it in a cookie that scripts cannot read and that other sites cannot use. As a second lock, a
request that changes something has to repeat a value which only pages of this service were told.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Final

from msgspec import DecodeError, json

from muster.errors import cannot
from muster.files import save_file

COOKIE: Final = "__Host-muster"
"""A browser takes a cookie of such a name only over TLS, for this host alone, and for all of its paths."""
CSRF_HEADER: Final = "X-CSRF-Token"
ENDED_FILE: Final = "ended-sessions.json"


def render_cookie(token: str, seconds: int) -> str:
    """The header that gives a browser its session; an empty token takes it away."""
    return f"{COOKIE}={token}; Path=/; Max-Age={seconds if token else 0}; Secure; HttpOnly; SameSite=Strict"


def parse_cookie(header: str) -> str:
    """The session in what a browser sends, or nothing."""
    for part in header.split(";"):
        name, _, value = part.strip().partition("=")
        if name == COOKIE:
            return value.strip('"')
    return ""


def csrf_of(session: str) -> str:
    """The value that goes with a session. The session's name is in the cookie, which no script can read."""
    return urlsafe_b64encode(hashlib.sha256(b"muster csrf " + session.encode()).digest()[:18]).decode("ascii")


def is_csrf_of(session: str, given: str) -> bool:
    """Whether a request repeats the value that goes with its session."""
    return bool(session) and hmac.compare_digest(csrf_of(session).encode(), given.encode())


class EndedSessions:
    """Sessions that their owners ended before their time, on disk: a restart does not revive them."""

    def __init__(self, folder: Path, now: float) -> None:
        self._path = folder / ENDED_FILE
        self._ended = {name: until for name, until in _load(self._path).items() if until > now}

    def __contains__(self, session: object) -> bool:
        return session in self._ended

    def end(self, session: str, expires: float, now: float) -> None:
        """From now on the session is over."""
        kept = {name: until for name, until in self._ended.items() if until > now}
        kept[session] = expires
        save_file(self._path, json.encode(kept), mode=0o600)
        self._ended = kept


def _load(path: Path) -> dict[str, float]:
    try:
        return json.decode(path.read_bytes(), type=dict[str, float])
    except FileNotFoundError:
        return {}
    except DecodeError:
        # It is written as a whole, so somebody else did this; sessions end by themselves soon enough.
        return {}
    except OSError as error:
        raise cannot("read", path, error) from error
