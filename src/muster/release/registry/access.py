# SPDX-License-Identifier: Apache-2.0
"""Who may pull: the users of an htpasswd file, by basic authentication.

A password's bcrypt hash takes a good part of a second to check, on purpose. So that is done beside the event
loop, one at a time, and what was right once is known again by a keyed hash that lives as long as the process.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from typing import Final

from muster.errors import UserError
from muster.frozen import dataclass
from muster.release.registry.reply import Code, Reply, render_error

_BCRYPT: Final = re.compile(r"\$2[abxy]\$\d\d\$[./A-Za-z0-9]{53}")
_LONGEST: Final = 72
"""What bcrypt reads of a password; htpasswd leaves out the rest, too."""
_MOST: Final = 4096
"""Logins that are remembered; more would be somebody's attempt to fill the memory."""


@dataclass(frozen=True)
class Login:
    """What a client says who it is."""

    user: str
    password: str

    def __repr__(self) -> str:
        return f"Login(user={self.user!r})"


def parse_htpasswd(text: str, origin: str) -> dict[str, bytes]:
    """Users and their bcrypt hashes."""
    users: dict[str, bytes] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        user, colon, hashed = line.strip().partition(":")
        if not colon or not user or not _BCRYPT.fullmatch(hashed):
            raise UserError(
                f"{origin}:{number} is not a user with a bcrypt hash",
                hint="make such lines with `htpasswd -nB USER`",
            )
        users[user] = hashed.encode()
    if not users:
        raise UserError(
            f"{origin} names nobody", hint="add a user with `htpasswd -B FILE USER`, or let everybody in"
        )
    return users


def parse_basic(header: str) -> Login | None:
    """The login of an Authorization header; None when it has none."""
    scheme, _, rest = header.strip().partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        user, colon, password = base64.b64decode(rest.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return Login(user, password) if colon else None


def render_challenge() -> Reply:
    """What those get who do not say who they are, or are not."""
    header = ("WWW-Authenticate", 'Basic realm="muster registry"')
    return render_error(401, Code.UNAUTHORIZED, "a user name and a password are needed", (header,))


class Access:
    """Checks logins; without users everybody may come in."""

    def __init__(
        self,
        users: Mapping[str, bytes],
        pool: Executor,
        check: Callable[[bytes, bytes], bool] | None = None,
    ) -> None:
        self._users = dict(users)
        self._pool = pool
        self._check = check or _check_bcrypt
        self._key = secrets.token_bytes(32)
        self._known: set[bytes] = set()
        self._pending: dict[bytes, asyncio.Future[bool]] = {}

    async def admits(self, header: str) -> bool:
        """Whether who sends this Authorization header may come in."""
        if not self._users:
            return True
        login = parse_basic(header)
        if login is None:
            return False
        mark = self._mark(login)
        if mark in self._known:
            return True
        # All who come with the same login at the same time wait for the same check.
        pending = self._pending.get(mark)
        if pending is None:
            pending = asyncio.ensure_future(self._verify(login, mark))
            self._pending[mark] = pending
            pending.add_done_callback(lambda _: self._pending.pop(mark, None))
        return await asyncio.shield(pending)

    async def _verify(self, login: Login, mark: bytes) -> bool:
        # A user who is not there takes as long as one who is.
        hashed = self._users.get(login.user, next(iter(self._users.values())))
        loop = asyncio.get_running_loop()
        matches = await loop.run_in_executor(
            self._pool, self._check, login.password.encode()[:_LONGEST], hashed
        )
        is_right = matches and login.user in self._users
        if is_right:
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known.add(mark)
        return is_right

    def _mark(self, login: Login) -> bytes:
        text = f"{len(login.user)}:{login.user}:{login.password}"
        return hmac.new(self._key, text.encode(), hashlib.sha256).digest()


def _check_bcrypt(password: bytes, hashed: bytes) -> bool:
    import bcrypt

    try:
        return bcrypt.checkpw(password, hashed)
    except ValueError:  # A password with a NUL in it.
        return False
