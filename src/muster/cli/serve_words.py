# SPDX-License-Identifier: Apache-2.0
"""What `muster serve` says while it runs: where it is, and how to log in."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from muster.cli import log
from muster.errors import MusterError
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
            "certificate": str(self._trusted()),
            "fingerprint": identity.fingerprint,
            **self._login(),
        }
        lines = [f"serving at   {running.url}"]
        if running.media_url != running.url:
            lines.append(f"media at     {running.media_url}")
        label = "authority" if running.settings.certificate is None else "certificate"
        lines += [f"{label:<12} {body['certificate']}", f"fingerprint  {identity.fingerprint}"]
        self._say(body, [*lines, *self._lines()])
        for doubt in running.certificate.doubts():
            log.warn("%s", doubt)
        if self._code is not None:
            self._code.on_new = self.tell_code

    def tell_code(self) -> None:
        """The code of this moment."""
        self._say(self._login(), self._lines())

    def tell_again(self) -> None:
        """The code of this moment; a certificate that was renewed is shown to callers from now on."""
        try:
            if self._running.certificate.renew():
                log.say("callers see the certificate %s now", self._running.identity.fingerprint)
                for doubt in self._running.certificate.doubts():
                    log.warn("%s", doubt)
        except MusterError as error:
            log.warn("the certificate stays as it was: %s", error)
        self.tell_code()

    def _trusted(self) -> Path:
        """What callers are given to know the service by."""
        given = self._running.settings.certificate
        return self._running.identity.path.parent / "authority.pem" if given is None else given.certificate

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
