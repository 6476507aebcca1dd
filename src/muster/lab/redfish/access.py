# SPDX-License-Identifier: Apache-2.0
"""Who may talk to the management controllers: one user, by password or by the token of a session."""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
import threading
from collections.abc import Mapping
from typing import Final

from muster.frozen import dataclass
from muster.lab.redfish.messages import Refused

_MOST_SESSIONS: Final = 64
"""Clients that never log out push out the oldest."""


@dataclass(frozen=True)
class Login:
    """The one user."""

    user: str
    password: str

    def __repr__(self) -> str:
        return f"Login(user={self.user!r})"

    def is_same(self, user: str, password: str) -> bool:
        same_user = hmac.compare_digest(self.user.encode(), user.encode())
        return hmac.compare_digest(self.password.encode(), password.encode()) and same_user


class Access:
    """Checks who asks. Without a login everybody may do everything."""

    def __init__(self, login: Login | None) -> None:
        self._login = login
        self._tokens: dict[str, str] = {}
        """By the id of the session."""
        self._lock = threading.Lock()

    @property
    def user(self) -> str:
        return self._login.user if self._login else ""

    def check(self, headers: Mapping[str, str]) -> None:
        """Refuse whoever does not prove to be the user."""
        if self._login is None or self._has_token(headers) or self._has_password(headers):
            return
        challenge = (("WWW-Authenticate", 'Basic realm="muster lab", charset="UTF-8"'),)
        raise Refused(401, "NoValidSession", "there is no valid session, user name or password", challenge)

    def open_session(self, user: str, password: str) -> tuple[str, str]:
        """The id of a new session, and its token."""
        if self._login is not None and not self._login.is_same(user, password):
            raise Refused(401, "InsufficientPrivilege", "the user name or the password is wrong")
        session, token = secrets.token_hex(8), secrets.token_urlsafe(32)
        with self._lock:
            self._tokens[session] = token
            while len(self._tokens) > _MOST_SESSIONS:
                del self._tokens[next(iter(self._tokens))]
        return session, token

    def sessions(self) -> list[str]:
        with self._lock:
            return list(self._tokens)

    def close_session(self, session: str) -> bool:
        """False when there is no such session."""
        with self._lock:
            return self._tokens.pop(session, None) is not None

    def _has_token(self, headers: Mapping[str, str]) -> bool:
        given = headers.get("x-auth-token", "").encode()
        with self._lock:
            return any(hmac.compare_digest(token.encode(), given) for token in self._tokens.values())

    def _has_password(self, headers: Mapping[str, str]) -> bool:
        kind, _, value = headers.get("authorization", "").partition(" ")
        if kind.lower() != "basic" or self._login is None:
            return False
        try:
            user, found, password = base64.b64decode(value, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return False
        return bool(found) and self._login.is_same(user, password)
