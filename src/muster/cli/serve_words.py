# SPDX-License-Identifier: Apache-2.0
"""What `muster serve` says while it runs: where it is, and how to log in."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Any

import click

from muster.service.hosting import Running


class Words:
    """Text for people, or a JSON object on a line of its own for programs."""

    def __init__(self, running: Running, *, as_json: bool) -> None:
        self._running, self._as_json = running, as_json
        self._code = running.login.code

    def tell_all(self) -> None:
        """All that somebody needs who wants to use the service."""
        running, identity = self._running, self._running.identity
        body = {
            "url": running.url,
            "mediaUrl": running.media_url,
            "certificate": str(identity.path.parent / "authority.pem"),
            "fingerprint": identity.fingerprint,
            **self._login(),
        }
        lines = [f"serving at   {running.url}"]
        if running.media_url != running.url:
            lines.append(f"media at     {running.media_url}")
        lines += [f"authority    {body['certificate']}", f"fingerprint  {identity.fingerprint}"]
        self._say(body, [*lines, *self._lines()])
        if self._code is not None:
            self._code.on_new = self.tell_code

    def tell_code(self) -> None:
        """The code of this moment."""
        self._say(self._login(), self._lines())

    def _login(self) -> dict[str, Any]:
        if self._code is None:
            return {}
        now = time.time()
        return {"code": self._code.show(now), "codeExpires": _clock(self._code.expires(now))}

    def _lines(self) -> list[str]:
        body = self._login()
        return [f"login code   {body['code']} (once, until {body['codeExpires']})"] if body else []

    def _say(self, body: dict[str, Any], lines: list[str]) -> None:
        text = json.dumps(body) if self._as_json else "\n".join(lines)
        if text:
            click.echo(text)


def _clock(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
