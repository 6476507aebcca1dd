# SPDX-License-Identifier: Apache-2.0
"""Lets a request in, or says why not."""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from msgspec import Struct

from muster.service.auth.credentials import (
    Credential,
    Knock,
    Place,
    asked_of,
    find_credentials,
    link_of,
)
from muster.service.auth.personas import ALLOWED, Grant, Persona, Rule, Ties, Verdict, may
from muster.service.auth.sessions import CSRF_HEADER, is_csrf_of
from muster.service.auth.tokens import Refusal, Tokens

_SAFE: Final = ("GET", "HEAD", "OPTIONS")
_CSRF: Final = CSRF_HEADER.lower().encode("ascii")


class Admission(Struct, frozen=True):
    """What came of a request at the door."""

    verdict: Verdict
    grant: Grant | None = None
    """Who is calling; nobody when no token came with a request that needs none."""


class Guard:
    """Knows the keys, the sessions that ended, and where hosts belong."""

    def __init__(self, tokens: Tokens, ended: Container[str], ties: Ties) -> None:
        self._tokens = tokens
        self._ended = ended
        self._ties = ties

    def admit(self, rule: Rule, knock: Knock, now: float) -> Admission:
        """Whether a request may pass. Of several tokens the first that opens the operation counts."""
        refused: Verdict | None = None
        stranger: Grant | None = None
        closest: Admission | None = None
        for credential in find_credentials(knock.headers, knock.query):
            read = self._read(credential, knock, now)
            if isinstance(read, Verdict):
                refused = refused or read
            elif read.persona in rule.who or Persona.ANYONE in rule.who:
                admission = Admission(self._judge(read, rule, knock), read)
                if admission.verdict.is_allowed:
                    return admission
                closest = closest or admission
            else:
                stranger = stranger or read
        if Persona.ANYONE in rule.who:
            return Admission(ALLOWED)
        if closest is not None:
            return closest
        if stranger is not None:
            return Admission(self._judge(stranger, rule, knock), stranger)
        return Admission(refused or self._judge(None, rule, knock))

    def _read(self, credential: Credential, knock: Knock, now: float) -> Grant | Verdict:
        read = self._tokens.read(credential.text, now)
        if isinstance(read, Refusal):
            return Verdict(401, read.reason)
        if read.session and read.session in self._ended:
            return Verdict(401, "this session was ended; log in again")
        if credential.place is Place.QUERY and not read.link and read.persona is not Persona.IMAGE:
            return Verdict(401, "this token belongs into a header, and not into an address")
        if credential.place is Place.COOKIE and not _is_own_page(read, knock):
            return Verdict(403, f"a change with a session's cookie needs its {CSRF_HEADER} header")
        return read

    def _judge(self, grant: Grant | None, rule: Rule, knock: Knock) -> Verdict:
        asked = asked_of(knock.ids, knock.query)
        if asked is None:
            return Verdict(403, "the path and the query of this request name different things")
        link = link_of(knock.path, knock.query) if grant and grant.link else ""
        return may(grant, rule, asked, self._ties, link)


def _is_own_page(grant: Grant, knock: Knock) -> bool:
    if knock.method in _SAFE:
        return True
    given = next((value for name, value in knock.headers if name == _CSRF), b"")
    return is_csrf_of(grant.session, given.decode("latin-1"))
