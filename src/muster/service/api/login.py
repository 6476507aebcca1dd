# SPDX-License-Identifier: Apache-2.0
"""The operations of the login, for browsers (a cookie) and for programs (a token)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from msgspec import DecodeError, json

from muster.service.api.call import JSON, Reply
from muster.service.api.table.own import LoginAnswer
from muster.service.audit import ACTOR, actor_of
from muster.service.auth.login import Login, Proof, Refused, Session
from muster.service.auth.personas import Grant
from muster.service.auth.sessions import EndedSessions, csrf_of, render_cookie
from muster.service.edge.answers import error_headers, render_error


class LoginDesk:
    """The three operations. Who is calling was found out before, and is passed in."""

    def __init__(self, login: Login, ended: EndedSessions, clock: Callable[[], float]) -> None:
        self._login = login
        self._ended = ended
        self._clock = clock

    async def show(self, grant: Grant | None) -> Reply:
        """Who the caller is, and how one can log in. A page that was reloaded gets its second lock here."""
        answer = LoginAnswer(ways=self._login.ways)
        if grant is not None:
            answer.persona = grant.persona
            answer.expires_at = _date(grant.expires)
            answer.csrf_token = csrf_of(grant.session) if grant.session else ""
        return Reply(200, json.encode(answer))

    async def log_in(self, address: str, body: bytes) -> Reply:
        """A session for one who knows the password or the code."""
        try:
            proof = json.decode(body, type=Proof)
        except DecodeError:
            return _refuse(Refused(400, "the body has to be an object with a password or a code"))
        result = await self._login.log_in(address, proof, self._clock())
        if isinstance(result, Refused):
            return _refuse(result)
        ACTOR.set(actor_of(result.grant))
        return _admit(result, self._login.settings.session_s if proof.cookie else 0)

    async def log_out(self, grant: Grant | None) -> Reply:
        """The end of the session; for one who has none, all is well already."""
        if grant is not None and grant.session and grant.expires is not None:
            self._ended.end(grant.session, grant.expires, self._clock())
        return Reply(204, b"", JSON, (("set-cookie", render_cookie("", 0)),))


def _admit(session: Session, cookie_s: int) -> Reply:
    answer = LoginAnswer(
        persona=session.grant.persona,
        expires_at=_date(session.expires),
        token="" if cookie_s else session.token,
        csrf_token=session.csrf,
    )
    cookie = (("set-cookie", render_cookie(session.token, cookie_s)),) if cookie_s else ()
    return Reply(201, json.encode(answer), JSON, cookie)


def _refuse(refused: Refused) -> Reply:
    headers = tuple(
        (name.decode("ascii"), value.decode("ascii"))
        for name, value in error_headers(refused.status, refused.retry_after_s)
        if name not in (b"content-type", b"content-length")
    )
    return Reply(refused.status, render_error(refused.status, refused.reason), JSON, headers)


def _date(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
