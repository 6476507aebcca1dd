# SPDX-License-Identifier: Apache-2.0
"""Audit log: who logged in, who was refused, who changed what, and from which address.

Each record is one line of JSON on the logger `muster.audit`. Records hold no tokens, bodies or query texts.
Refusals are limited to one record a minute for each caller, and what hosts report to one record an hour for
each host and operation; the next record says how many were left out. Unknown callers share `MOST_STRANGERS`
records a minute; one more record says how many refusals were left out. Logins and changes by people are
always recorded. Texts that callers can choose are cut.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from datetime import datetime
from typing import Any, Final

from muster.frozen import dataclass
from muster.service.auth.personas import Grant, Persona
from muster.serving.accept import network_of

ACTOR: Final[ContextVar[str]] = ContextVar("actor", default="")
"""Who sent the request that the current task answers."""
_log: Final = logging.getLogger("muster.audit")
WINDOW_S: Final = 60.0
HOST_WINDOW_S: Final = 3600.0
"""Hosts report all the time; each change of theirs is in the log of events."""
_FAILED: Final = 400
MAX_CALLERS: Final = 4096
MOST_STRANGERS: Final = 60
LONGEST: Final = 100
"""Characters of a text in a record."""
_SAFE: Final = ("GET", "HEAD", "OPTIONS")
_LOGIN: Final = "v2Login"
_NO_CHANGES: Final = frozenset({"v2ValidateNetworks", "v2ValidateManifest", "v2TellLogLines"})
"""Operations that change nothing, although their method says otherwise."""
_REFUSED: Final = (401, 403, 429)


class Caller:
    """Who sends a request, and what it is about, as far as that is known so far."""

    def __init__(self) -> None:
        self.actor = ""
        self.is_host = False
        self.ids: Mapping[str, str] = {}
        """What the path of the request names."""
        self.refusal = ""

    def identify(self, grant: Grant | None) -> None:
        """The caller is known: all that this task changes is changed on its behalf."""
        self.actor = actor_of(grant)
        self.is_host = grant is not None and grant.persona in (Persona.HOST, Persona.MEDIUM)
        ACTOR.set(self.actor)


@dataclass(frozen=True)
class Request:
    """What is recorded of a request."""

    method: str
    operation: str
    client: str
    """The address that it came from."""
    request_id: str
    caller: Caller


def actor_of(grant: Grant | None) -> str:
    """Who a caller is. Of a session only a digest is shown, which opens nothing."""
    if grant is None:
        return ""
    scope = grant.scope
    if grant.persona is Persona.HOST:
        return f"host:{scope.host_id}"
    if grant.persona is Persona.MEDIUM:
        return f"medium:{scope.infra_env_id or 'any'}"
    if grant.session:
        return f"{grant.persona}:{hashlib.sha256(grant.session.encode()).hexdigest()[:8]}"
    return f"{grant.persona}:link" if grant.link else str(grant.persona)


class Audit:
    """Writes the audit log."""

    def __init__(
        self,
        clock: Callable[[], datetime],
        steady: Callable[[], float],
        write: Callable[[str], None] = lambda line: _log.info("%s", line),
    ) -> None:
        self._clock, self._steady, self._write = clock, steady, write
        self._seen: dict[tuple[str, str, str, int], tuple[float, int]] = {}
        """By caller and what it did: when that was recorded last, and how often it happened since."""
        self._minute = float("-inf")
        """When the minute began in which strangers are counted."""
        self._strangers = self._left_out = 0

    def record(self, request: Request, status: int) -> None:
        """Record how a request ended, if it is one that is recorded."""
        self._begin_minute()
        if request.operation == _LOGIN:
            if status < _FAILED:
                self._tell("login", request, status)
            else:
                self._limited("login-refused", request, status, WINDOW_S)
        elif status in _REFUSED:
            self._limited("refused", request, status, WINDOW_S)
        elif status < _FAILED and request.method not in _SAFE and request.operation not in _NO_CHANGES:
            if request.caller.is_host:
                self._limited("change", request, status, HOST_WINDOW_S)
            else:
                self._tell("change", request, status)

    def _limited(self, event: str, request: Request, status: int, window_s: float) -> None:
        """At most one record in a while of the same caller, operation and outcome."""
        caller = request.caller.actor or network_of(request.client)
        operation = request.operation if request.caller.actor else ""
        key, now = (event, caller, operation, status), self._steady()
        last, missed = self._seen.get(key, (float("-inf"), 0))
        if now - last < window_s:
            self._seen[key] = (last, missed + 1)
            return
        if not request.caller.actor and not self._has_room():
            return
        self._seen.pop(key, None)
        self._seen[key] = (now, 0)
        if len(self._seen) > MAX_CALLERS:
            self._forget()
        self._tell(event, request, status, missed)

    def _begin_minute(self) -> None:
        """Count strangers anew when a minute is over; how many refusals were left out is recorded."""
        now = self._steady()
        if now - self._minute < WINDOW_S:
            return
        if self._left_out:
            self._write(_render({"time": self._time(), "event": "left-out", "refusals": self._left_out}))
        self._minute, self._strangers, self._left_out = now, 0, 0

    def _has_room(self) -> bool:
        """Whether one more refusal of a stranger is recorded."""
        is_left = self._strangers < MOST_STRANGERS
        self._strangers += is_left
        self._left_out += not is_left
        return is_left

    def _forget(self) -> None:
        """Drop the caller that was recorded first; how often it was left out is recorded."""
        key = next(iter(self._seen))
        _, missed = self._seen.pop(key)
        event, caller, operation, status = key
        if not operation:  # A stranger.
            self._left_out += missed
        elif missed:
            body = {"event": event, "caller": caller, "operation": operation, "status": status}
            self._write(_render({"time": self._time(), **body, "repeated": missed}))

    def _tell(self, event: str, request: Request, status: int, missed: int = 0) -> None:
        body = {
            "time": self._time(),
            "event": event,
            "actor": request.caller.actor or ACTOR.get(),
            "client": request.client,
            "operation": request.operation,
            "status": status,
            "request_id": request.request_id,
            "about": {name: _short(id) for name, id in request.caller.ids.items()},
            "reason": request.caller.refusal,
            "repeated": missed,
        }
        self._write(_render(body))

    def _time(self) -> str:
        return self._clock().isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _render(body: Mapping[str, Any]) -> str:
    return json.dumps({name: _short(value) for name, value in body.items() if value not in ("", 0, {})})


def _short(value: Any) -> Any:
    """A text in plain characters, and not too many of them: in JSON another one takes up to twelve."""
    return value.encode("ascii", "backslashreplace")[:LONGEST].decode() if isinstance(value, str) else value
