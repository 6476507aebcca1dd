# SPDX-License-Identifier: Apache-2.0
"""What goes wrong between us and a server, in words, and whether it may pass when one tries again."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any, Final

from muster.errors import ExternalError
from muster.redact import printable, redact

PROXY_HINT: Final = "check HTTPS_PROXY, HTTP_PROXY and NO_PROXY, and the login in them"
SLOW_DOWN: Final = (408, 425, 429)
_LONGEST_WAIT_S: Final = 60
_LONGEST_WORDS: Final = 200


class Unreachable(ExternalError):
    """A server could not be reached, or did not give what was asked for."""

    def __init__(self, message: str, *, hint: str, passing: bool, wait_s: int = 0) -> None:
        super().__init__(message, hint=hint)
        self.passing = passing
        """Whether it is worth trying again."""
        self.wait_s = wait_s
        """How long the server asks to be left alone."""

    def about(self, shown: str, digest: str) -> Unreachable:
        """The same, with the blob that it is about, unless it is named already."""
        if digest in self.message:
            return self
        message = f"{shown}: {self.message}"
        return Unreachable(message, hint=self.hint, passing=self.passing, wait_s=self.wait_s)


class Damaged(ExternalError):
    """What arrived is not what was asked for; nothing may be made of it."""


def explain_os_error(host: str, proxy: str, error: OSError) -> Unreachable:
    """What the operating system, or TLS, says about a host that was to be reached, maybe by a proxy."""
    import socket
    import ssl

    via = f" by the proxy {proxy}" if proxy else ""
    if isinstance(error, ssl.SSLCertVerificationError):
        return Unreachable(
            f"the certificate of {host} is not trusted: {error.verify_message.lower()}",
            hint="give its authority's certificate with --ca-bundle; if it is not valid yet, set the clock",
            passing=False,
        )
    if isinstance(error, ssl.SSLError):
        passing = isinstance(error, (ssl.SSLEOFError, ssl.SSLZeroReturnError))
        reason = (error.reason or "the connection was closed").lower().replace("_", " ")
        hint = "check that the URL has the right scheme and port; a proxy in between may break TLS, too"
        return Unreachable(f"TLS with {host}{via} failed: {reason}", hint=hint, passing=passing)
    if isinstance(error, TimeoutError):
        hint = "check the network between here and there, and whether a proxy has to be used (HTTPS_PROXY)"
        return Unreachable(f"{host} did not answer in time{via}", hint=hint, passing=True)
    if isinstance(error, socket.gaierror):
        name = proxy or host
        hint = PROXY_HINT if proxy else "check the name, and the DNS servers of this machine"
        again = error.errno == socket.EAI_AGAIN
        return Unreachable(f"the name {name} cannot be resolved", hint=hint, passing=again)
    text = error.strerror or str(error)
    if "Tunnel connection failed" in text:
        answer = text.removeprefix("Tunnel connection failed:").strip()
        return refused_by_proxy(host, proxy, answer)
    hint = PROXY_HINT if proxy else "check the address and the port, and whether a firewall is in between"
    return Unreachable(f"cannot reach {host}{via}: {_reason(error).lower()}", hint=hint, passing=True)


def _reason(error: OSError) -> str:
    """What went wrong, in the words of the system and not in those of a library, or of several addresses."""
    number = error.errno or 0
    if number <= 0 and (match := re.search(r"\[Errno (\d{1,4})\]", str(error))):
        number = int(match[1])
    return os.strerror(number) if number > 0 else error.strerror or str(error)


def refused_by_proxy(host: str, proxy: str, answer: str, *, passing: bool = False) -> Unreachable:
    return Unreachable(f"the proxy {proxy} refused {host}: {answer}", hint=PROXY_HINT, passing=passing)


def broken_off(host: str) -> Unreachable:
    hint = "check that it speaks HTTP; a proxy or a firewall may have cut the connection"
    return Unreachable(f"{host} broke the connection off", hint=hint, passing=True)


def refuse_status(status: int, what: str, headers: Mapping[str, str], body: bytes = b"") -> Unreachable:
    """Why a registry's answer is not what was asked for; ``what`` is that, at which registry."""
    said = words_of(body)
    message = f"{what}: the registry answered {status}" + (f" ({said})" if said else "")
    passing = False
    match status:
        case 403:
            hint = "check that the login of the pull secret may do that there"
        case 404 | 410:
            message = f"{what} is not there" + (f" ({said})" if said else "")
            hint = "check its name; some registries also say so when a login is missing in the pull secret"
        case 407:
            hint = PROXY_HINT
        case 429:
            passing, hint = True, "the registry limits how much one may ask; wait, or log in"
        case _ if status in SLOW_DOWN or status >= 500:
            passing, hint = True, "the registry has a problem; try again later, or name a mirror"
        case _:
            hint = "check that this is a registry, and that it allows what was asked"
    return Unreachable(message, hint=hint, passing=passing, wait_s=wait_of(headers))


def words_of(body: bytes) -> str:
    """What a registry says about an error, short enough to be shown; nothing when it says it in HTML."""
    try:
        errors = json.loads(body)["errors"]
        first: Any = errors[0]
        said = ": ".join(str(first[key]) for key in ("code", "message") if first.get(key))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return ""
    plain = re.sub(r"\s+", " ", printable(redact(said))).strip()
    return plain if len(plain) <= _LONGEST_WORDS else f"{plain[: _LONGEST_WORDS - 3]}..."


def wait_of(headers: Mapping[str, str]) -> int:
    """How many seconds a server wants to be left alone, up to a minute; its own clock tells until when."""
    text = headers.get("retry-after", "")
    if text.isascii() and text.isdigit() and len(text) < 9:
        return min(int(text), _LONGEST_WAIT_S)
    from email.utils import parsedate_to_datetime

    try:
        wait = parsedate_to_datetime(text) - parsedate_to_datetime(headers.get("date", ""))
    except (ValueError, TypeError, OverflowError):
        return 0
    return max(0, min(int(wait.total_seconds()), _LONGEST_WAIT_S))
