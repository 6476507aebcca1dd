# SPDX-License-Identifier: Apache-2.0
"""How people log in: with the password of the settings, or with the code that the console shows."""

from __future__ import annotations

import asyncio
import math
from base64 import urlsafe_b64encode
from dataclasses import field, replace
from typing import Final

from msgspec import Struct

from muster.certificates.keys import Random
from muster.frozen import dataclass
from muster.service.auth.attempts import Attempts
from muster.service.auth.codes import OneTimeCode
from muster.service.auth.passwords import check_hash, is_password
from muster.service.auth.personas import Grant, Persona
from muster.service.auth.sessions import csrf_of
from muster.service.auth.tokens import Tokens

SESSION_S: Final = 12 * 3600


@dataclass(frozen=True)
class LoginSettings:
    """Which ways there are."""

    password_hash: str = field(default="", repr=False)
    with_code: bool = True
    session_s: int = SESSION_S


class Proof(Struct, frozen=True, forbid_unknown_fields=True):
    """What somebody types in to log in: one of the two."""

    password: str = ""
    code: str = ""
    cookie: bool = False
    """Whether the session is kept in a cookie, for browsers, and not told in the answer, for programs."""

    def __repr__(self) -> str:
        return "Proof(…)"


class Session(Struct, frozen=True):
    """What somebody gets who has logged in."""

    token: str
    expires: float
    csrf: str

    def __repr__(self) -> str:
        return f"Session(expires={self.expires})"


class Refused(Struct, frozen=True):
    """Why somebody does not get in."""

    status: int
    reason: str
    retry_after_s: int = 0


class Login:
    """The door."""

    def __init__(self, settings: LoginSettings, tokens: Tokens, random: Random) -> None:
        if settings.password_hash:
            check_hash(settings.password_hash)
        self.settings = settings
        self.code = OneTimeCode(random) if settings.with_code else None
        self._tokens = tokens
        self._random = random
        self._attempts = Attempts()
        self._turn = asyncio.Lock()

    def accept(self, password_hash: str) -> None:
        """From now on this password lets people in."""
        check_hash(password_hash)
        self.settings = replace(self.settings, password_hash=password_hash)

    @property
    def ways(self) -> tuple[str, ...]:
        """How one can log in."""
        has = (("password", bool(self.settings.password_hash)), ("code", self.code is not None))
        return tuple(name for name, there in has if there)

    async def log_in(self, address: str, proof: Proof, now: float) -> Session | Refused:
        """A session for one who knows the secret; for others a refusal, and after some of them a wait."""
        if bool(proof.password) == bool(proof.code):
            return Refused(400, "give either a password or a code")
        if wait := self._attempts.wait_s(address, now):
            seconds = math.ceil(wait)
            return Refused(429, f"too many attempts; try again in {seconds} s", seconds)
        self._attempts.begin(address, now)
        if not await self._fits(proof, now):
            return Refused(401, "the password or code is wrong, or has expired")
        self._attempts.succeed(address)
        return self.make_session(now)

    def make_session(self, now: float) -> Session:
        """A session of a person, for as long as the settings say."""
        name = urlsafe_b64encode(self._random(18)).decode("ascii")
        expires = float(int(now) + self.settings.session_s)
        token = self._tokens.issue(Grant(Persona.USER, expires=expires, session=name))
        return Session(token, expires, csrf_of(name))

    async def _fits(self, proof: Proof, now: float) -> bool:
        if proof.code:
            return self.code is not None and self.code.take(proof.code, now)
        if not self.settings.password_hash:
            return False
        # One at a time: each takes 16 MiB and a good part of a core.
        async with self._turn:
            return await asyncio.to_thread(is_password, proof.password, self.settings.password_hash)
