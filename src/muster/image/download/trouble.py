# SPDX-License-Identifier: Apache-2.0
"""What goes wrong between us and a server, in words, and whether it may pass when one tries again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from muster.errors import ExternalError

_SLOW_DOWN: Final = (408, 425, 429)
_LONGEST_WAIT_S: Final = 60
_PROXY_HINT: Final = "check HTTPS_PROXY, HTTP_PROXY and NO_PROXY, and the login in them"


class Unreachable(ExternalError):
    """A server could not be reached, or did not give what was asked for."""

    def __init__(self, message: str, *, hint: str, passing: bool, wait_s: int = 0) -> None:
        super().__init__(message, hint=hint)
        self.passing = passing
        """Whether it is worth trying again."""
        self.wait_s = wait_s
        """How long the server asks to be left alone."""


class Damaged(ExternalError):
    """What arrived is not what was asked for; nothing may be made of it."""


@contextmanager
def describe_trouble(host: str, proxy: Callable[[], str]) -> Iterator[None]:
    """Turn every way in which a request can fail into Unreachable."""
    from http.client import HTTPException, InvalidURL
    from urllib.error import URLError

    try:
        yield
    except InvalidURL as error:
        raise Unreachable(f"the URL for {host} is not valid", hint="check the URL", passing=False) from error
    except HTTPException as error:
        raise _broken(host) from error
    except URLError as error:
        reason = error.reason if isinstance(error.reason, OSError) else OSError(str(error.reason))
        raise _unreachable(host, proxy(), reason) from error
    except OSError as error:
        raise _unreachable(host, proxy(), error) from error


def _unreachable(host: str, proxy: str, error: OSError) -> Unreachable:
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
        hint = _PROXY_HINT if proxy else "check the name, and the DNS servers of this machine"
        again = error.errno == socket.EAI_AGAIN
        return Unreachable(f"the name {name} cannot be resolved", hint=hint, passing=again)
    text = error.strerror or str(error)
    if "Tunnel connection failed" in text:
        answer = text.removeprefix("Tunnel connection failed:").strip()
        return Unreachable(f"the proxy {proxy} refused {host}: {answer}", hint=_PROXY_HINT, passing=False)
    hint = _PROXY_HINT if proxy else "check the address and the port, and whether a firewall is in between"
    return Unreachable(f"cannot reach {host}{via}: {text.lower()}", hint=hint, passing=True)


def _broken(host: str) -> Unreachable:
    hint = "check that it speaks HTTP; a proxy or a firewall may have cut the connection"
    return Unreachable(f"{host} broke the connection off", hint=hint, passing=True)


def redirected_wrongly(host: str) -> Unreachable:
    """The server sends us in circles, or to where we do not follow."""
    return Unreachable(
        f"{host} redirects in circles, too often, or from https to something that is not",
        hint="name the URL where the file really is",
        passing=False,
    )


def refuse_status(status: int, shown: str, headers: Mapping[str, str]) -> Unreachable:
    """Why an answer is not what was asked for."""
    message, passing = f"{shown}: the server answered {status}", False
    match status:
        case 401 | 403:
            message += ", which is not allowed to us"
            hint = "put the login into the URL (https://USER:PASSWORD@...); a link may have expired"
        case 404 | 410:
            message += ", the file is not there"
            hint = "check the URL; publishers move old versions"
        case 407:
            hint = _PROXY_HINT
        case _ if status in _SLOW_DOWN or status >= 500:
            passing = True
            hint = "the server has a problem; try again later, or name another source"
        case _:
            hint = "check the URL, or name another source"
    return Unreachable(message, hint=hint, passing=passing, wait_s=_wait_of(headers))


def _wait_of(headers: Mapping[str, str]) -> int:
    text = headers.get("retry-after", "")
    return min(int(text), _LONGEST_WAIT_S) if text.isascii() and text.isdigit() and len(text) < 9 else 0
