# SPDX-License-Identifier: Apache-2.0
"""How people log in: with the password of the settings, or with the code that the console shows."""

from __future__ import annotations

import asyncio
import math
from base64 import urlsafe_b64encode
from collections.abc import Awaitable, Callable
from dataclasses import field, replace
from typing import Final, TypeAlias

from msgspec import Struct

from muster.certificates.keys import Random
from muster.frozen import dataclass
from muster.service.auth.attempts import Attempts, Turns
from muster.service.auth.codes import OneTimeCode
from muster.service.auth.passwords import MAX_LENGTH, check_hash, is_password
from muster.service.auth.personas import Grant, Persona
from muster.service.auth.sessions import csrf_of
from muster.service.auth.tokens import Tokens

SESSION_S: Final = 12 * 3600
BUSY_S: Final = 2
"""When to try again if too many passwords wait to be checked."""
CheckPassword: TypeAlias = Callable[[str, str], Awaitable[bool]]
"""Whether a password fits its hash."""


@dataclass(frozen=True)
class LoginSettings:
    """Which ways there are."""

    password_hash: str = field(default="", repr=False)
    viewer_hash: str = field(default="", repr=False)
    """Of the password of people who may only look, and see no secrets."""
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
    grant: Grant

    def __repr__(self) -> str:
        return f"Session(expires={self.expires})"


class Refused(Struct, frozen=True):
    """Why somebody does not get in."""

    status: int
    reason: str
    retry_after_s: int = 0


class Login:
    """The door."""

    def __init__(
        self, settings: LoginSettings, tokens: Tokens, random: Random, check: CheckPassword | None = None
    ) -> None:
        for each in filter(None, (settings.password_hash, settings.viewer_hash)):
            check_hash(each)
        self.settings = settings
        self.code = OneTimeCode(random) if settings.with_code else None
        self._tokens = tokens
        self._random = random
        self._attempts = Attempts()
        self._turns = Turns()
        self._check = check or _check_in_thread

    def accept(self, password_hash: str) -> None:
        """From now on this password lets people in."""
        check_hash(password_hash)
        self.settings = replace(self.settings, password_hash=password_hash)

    @property
    def ways(self) -> tuple[str, ...]:
        """How one can log in."""
        by_password = bool(self.settings.password_hash or self.settings.viewer_hash)
        has = (("password", by_password), ("code", self.code is not None))
        return tuple(name for name, there in has if there)

    async def log_in(self, address: str, proof: Proof, now: float) -> Session | Refused:
        """A session for one who knows the secret; for others a refusal, and after some of them a wait."""
        if bool(proof.password) == bool(proof.code):
            return Refused(400, "give either a password or a code")
        persona = await self._find_persona(address, proof, now)
        if isinstance(persona, Refused):
            return persona
        if persona is None:
            return Refused(401, "the password or code is wrong, or has expired")
        self._attempts.succeed(address)
        return self.make_session(now, persona)

    def make_session(self, now: float, persona: Persona = Persona.USER) -> Session:
        """A session of a person, for as long as the settings say."""
        name = urlsafe_b64encode(self._random(18)).decode("ascii")
        expires = float(int(now) + self.settings.session_s)
        grant = Grant(persona, expires=expires, session=name)
        return Session(self._tokens.issue(grant), expires, csrf_of(name), grant)

    async def _find_persona(self, address: str, proof: Proof, now: float) -> Persona | Refused | None:
        """Whom a password or code lets in; a refusal when it cannot be checked now."""
        if proof.code:
            # Never delayed: whoever shares the address of the owner could keep the owner out.
            fits = self.code is not None and self.code.take(proof.code, now)
            return Persona.USER if fits else None
        if wait := self._attempts.wait_s(address, now):
            seconds = math.ceil(wait)
            return Refused(429, f"too many attempts; try again in {seconds} s, or with a code", seconds)
        self._attempts.begin(address, now)
        persona = await self._find_by_password(address, proof.password)
        if isinstance(persona, Refused):
            self._attempts.withdraw(address)
        return persona

    async def _find_by_password(self, address: str, password: str) -> Persona | Refused | None:
        known = ((self.settings.password_hash, Persona.USER), (self.settings.viewer_hash, Persona.WATCHER))
        if not any(hashed for hashed, _ in known) or len(password) > MAX_LENGTH:
            return None
        # One at a time: each takes 16 MiB and a good part of a core.
        if not await self._turns.wait(address, is_known=self._attempts.is_known(address)):
            reason = f"too many passwords are being checked; try again in {BUSY_S} s, or with a code"
            return Refused(503, reason, BUSY_S)
        try:
            for hashed, persona in known:
                if hashed and await self._check(password, hashed):
                    return persona
        finally:
            self._turns.end()
        return None


async def _check_in_thread(password: str, password_hash: str) -> bool:
    return await asyncio.to_thread(is_password, password, password_hash)
