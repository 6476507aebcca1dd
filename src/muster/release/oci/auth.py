# SPDX-License-Identifier: Apache-2.0
"""How registries let us in: Basic logins, and tokens that another server gives for them."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any, Final
from urllib.parse import quote, urlsplit

from muster.frozen import dataclass
from muster.release.oci.logins import Login, Logins
from muster.release.oci.transport import Call, Reply, Transport
from muster.release.oci.trouble import Unreachable, refuse_status, words_of

_WORD: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_PART: Final = re.compile(rf'[\s,]*({_WORD})(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*)))?')
_SENDABLE: Final = re.compile(r"[!-~]{1,65536}")
_LARGEST_ANSWER: Final = 1 << 20
_SHORTEST_LIFE_S: Final = 60
"""How long a token lives if nobody says it."""


@dataclass(frozen=True)
class Challenge:
    """What a registry wants to see."""

    scheme: str
    """In lower case: basic, bearer."""
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Access:
    """What is to be done, and where."""

    registry: str
    repository: str
    actions: str = "pull"
    """``pull``, or ``pull,push``."""
    also: tuple[str, ...] = ()
    """Other repositories of the registry that are read on the way."""
    insecure: bool = False

    @property
    def name(self) -> str:
        return f"{self.registry}/{self.repository}"

    @property
    def scopes(self) -> tuple[str, ...]:
        """As token servers name it."""
        own = f"repository:{self.repository}:{self.actions}"
        return (own, *(f"repository:{other}:pull" for other in self.also))


@dataclass(frozen=True)
class Token:
    """A permission that ends by itself."""

    header: str = field(repr=False)
    until: float


def parse_challenges(texts: Iterable[str]) -> tuple[Challenge, ...]:
    """Read the WWW-Authenticate headers of an answer; one may hold several challenges."""
    found: list[tuple[str, dict[str, str]]] = []
    for text in texts:
        for match in _PART.finditer(text):
            name, quoted, plain = match.groups()
            if quoted is None and plain is None:
                found.append((name.lower(), {}))
            elif found:
                found[-1][1][name.lower()] = plain if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
    return tuple(Challenge(scheme, parameters) for scheme, parameters in found)


class Gate:
    """Knows what each registry wants to see, and has it at hand."""

    def __init__(self, transport: Transport, logins: Logins, now: Callable[[], float]) -> None:
        self._transport, self._logins, self._now = transport, logins, now
        self._known: dict[str, Challenge] = {}
        self._tokens: dict[Access, Token] = {}
        self._locks: dict[Access, asyncio.Lock] = {}

    async def header(self, access: Access) -> str:
        """What a request carries, by what the registry wanted before; empty when it wanted nothing."""
        challenge = self._known.get(access.registry)
        if challenge is None:
            return ""
        if challenge.scheme == "basic":
            login = self._logins.find(access.name)
            return login.basic if login else ""
        return await self._token(access, challenge, refused="")

    async def answer(self, access: Access, texts: Iterable[str], sent: str) -> str:
        """What the same request has to carry after it was refused with these challenges."""
        challenges = {challenge.scheme: challenge for challenge in parse_challenges(texts)}
        challenge = challenges.get("bearer") or challenges.get("basic")
        if challenge is None:
            raise _unknown(access, challenges)
        self._known[access.registry] = challenge
        if challenge.scheme == "bearer":
            return await self._token(access, challenge, refused=sent)
        login = self._logins.find(access.name)
        if login is None or login.basic == sent:
            raise self.refusal(access)
        return login.basic

    def refusal(self, access: Access, said: str = "") -> Unreachable:
        """Why we are not let in."""
        what = "push to" if "push" in access.actions else "pull from"
        login = self._logins.find(access.name)
        words = f" ({said})" if said else ""
        if login is None:
            return Unreachable(
                f"{access.registry} wants a login to {what} {access.repository}, and there is none{words}",
                hint=f"check the repository's name, or add a login for {access.registry} to the pull secret",
                passing=False,
            )
        return Unreachable(
            f"{access.registry} refused the login for {login.scope} to {what} {access.repository}{words}",
            hint="check that the login in the pull secret has not expired, and that it may do that",
            passing=False,
        )

    async def _token(self, access: Access, challenge: Challenge, refused: str) -> str:
        """A token that is good for a while, and is not the one that was refused; many may want it at once."""
        async with self._locks.setdefault(access, asyncio.Lock()):
            token = self._tokens.get(access)
            if token is None or token.header == refused or token.until <= self._now():
                token = self._tokens[access] = await self._fetch_token(access, challenge)
            return token.header

    async def _fetch_token(self, access: Access, challenge: Challenge) -> Token:
        login = self._logins.find(access.name)
        call = _token_call(access, challenge, login)
        server = urlsplit(call.url).netloc
        async with self._transport.request(call) as reply:
            if reply.status in (400, 401, 403):
                raise self.refusal(access, words_of(await reply.read_some(_LARGEST_ANSWER)))
            if reply.status != 200:
                raise refuse_status(reply.status, f"a token of {server} for {access.name}", reply.headers)
            body = await _read_json(reply)
        token, life = parse_token(body)
        if not token:
            raise Unreachable(
                f"{server} gave no token for {access.name}",
                hint=f"check that the registry {access.registry} works with other clients",
                passing=False,
            )
        # It has to last for the request as well.
        return Token(f"Bearer {token}", self._now() + life - min(10.0, life / 4))


def parse_token(body: Any) -> tuple[str, float]:
    """The token in a token server's answer, empty when it has none, and for how many seconds it is good."""
    if not isinstance(body, dict):
        return "", 0
    token = body.get("token") or body.get("access_token")
    if not isinstance(token, str) or not _SENDABLE.fullmatch(token):
        return "", 0
    life = body.get("expires_in")
    if not isinstance(life, (int, float)) or isinstance(life, bool) or not 0 < life < 1e9:
        life = _SHORTEST_LIFE_S
    return token, float(life)


def _token_call(access: Access, challenge: Challenge, login: Login | None) -> Call:
    realm = _checked_realm(access, challenge.parameters.get("realm", ""))
    wanted = dict.fromkeys((*access.scopes, challenge.parameters.get("scope", "")))
    scopes = [scope for scope in wanted if scope]
    service = challenge.parameters.get("service", "")
    if login is not None and login.identity_token:
        return _refresh_call(Call("POST", realm, insecure=access.insecure), service, scopes, login)
    fields = [("service", service)] if service else []
    fields += [("scope", scope) for scope in scopes]
    url = realm + ("&" if "?" in realm else "?") + _form(fields)
    headers = {"Authorization": login.basic} if login else {}
    return Call("GET", url, headers, insecure=access.insecure)


def _refresh_call(call: Call, service: str, scopes: list[str], login: Login) -> Call:
    fields = [
        ("grant_type", "refresh_token"),
        ("service", service),
        ("scope", " ".join(scopes)),
        ("client_id", "muster"),
        ("refresh_token", login.identity_token),
    ]
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    return Call(call.method, call.url, headers, _form(fields).encode(), insecure=call.insecure)


def _form(fields: Iterable[tuple[str, str]]) -> str:
    return "&".join(f"{name}={quote(text, safe='')}" for name, text in fields)


def _checked_realm(access: Access, realm: str) -> str:
    """The token server, which gets to see the login, so that it has to be one that only it can read."""
    allowed = ("https", "http") if access.insecure else ("https",)
    try:
        parts = urlsplit(realm)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme in allowed and parts.netloc and _SENDABLE.fullmatch(realm):
        return realm.partition("#")[0]
    raise Unreachable(
        f"{access.registry} names a token server that cannot be used: {realm[:100]!r}",
        hint="its URL has to begin with https://; a registry without TLS has to be named as insecure",
        passing=False,
    )


async def _read_json(reply: Reply) -> Any:
    try:
        return json.loads(await reply.read(_LARGEST_ANSWER))
    except (ValueError, RecursionError):
        return None


def _unknown(access: Access, challenges: Iterable[str]) -> Unreachable:
    named = ", ".join(sorted(challenges))[:100]
    return Unreachable(
        f"{access.registry} refused us without a way in that we know" + (f": {named}" if named else ""),
        hint="registries let in by Basic or Bearer; check that this is one",
        passing=False,
    )
