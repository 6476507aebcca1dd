# SPDX-License-Identifier: Apache-2.0
"""The one HTTP client: proxies of the environment, extra authorities, time limits, and errors with a way out.

It is urllib with the handlers that are wanted and no others, imported with the first request.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import unquote, urlsplit, urlunsplit

from muster import __version__
from muster.frozen import dataclass
from muster.image.download.trouble import describe_trouble, redirected_wrongly
from muster.release.oci.trouble import Unreachable

if TYPE_CHECKING:
    from urllib.request import OpenerDirector, Request

_REDIRECTS: Final = (301, 302, 303, 307, 308)


@dataclass(frozen=True)
class Reply:
    """What a server answered; its body is read on demand."""

    status: int
    headers: Mapping[str, str]
    """By lower-case name."""
    read: Callable[[int], bytes]
    """Up to so many bytes of the body; none at its end, which may come too early."""


Fetch: TypeAlias = Callable[[str, Mapping[str, str]], AbstractContextManager[Reply]]
"""Asks for a URL with these headers. Raises Unreachable; whatever a server answers is a Reply."""


@dataclass(frozen=True)
class Timeouts:
    """How long to wait for a connection, and for the next bytes of one."""

    connect_s: float = 30
    read_s: float = 60


def http_fetch(authorities: Sequence[str] = (), timeouts: Timeouts | None = None) -> Fetch:
    """A client that trusts the authorities of the system and these, which are texts in PEM form."""
    limits = timeouts or Timeouts()

    @cache
    def opener() -> OpenerDirector:
        from muster.image.download.handlers import build_opener

        return build_opener(authorities, limits.read_s)

    @contextmanager
    def fetch(url: str, headers: Mapping[str, str]) -> Iterator[Reply]:
        from urllib.error import HTTPError

        request = _request(url, headers)
        host = urlsplit(request.full_url).netloc
        with describe_trouble(host, lambda: _proxy_of(request, host)):
            try:
                response = opener().open(request, timeout=limits.connect_s)
            except HTTPError as error:
                if error.code in _REDIRECTS:
                    error.close()
                    raise redirected_wrongly(host) from error
                response = error
        with response:
            yield Reply(
                response.status or 0,
                {name.lower(): value for name, value in response.headers.items()},
                # What is there, however little: waiting for more would lose it to a crash.
                lambda size: _read(response.read1, size, host),
            )

    return fetch


def _read(read: Callable[[int], bytes], size: int, host: str) -> bytes:
    with describe_trouble(host, lambda: ""):
        return read(size)


def _request(url: str, headers: Mapping[str, str]) -> Request:
    from urllib.request import Request

    parts = urlsplit(url)
    login, _, host = parts.netloc.rpartition("@")
    try:
        host = host.encode("ascii").decode() if host.isascii() else host.encode("idna").decode()
    except UnicodeError as error:
        raise Unreachable(f"{host} is not the name of a host", hint="check the URL", passing=False) from error
    clean = urlunsplit((parts.scheme, host, parts.path, parts.query, ""))
    request = Request(clean, headers={"User-Agent": f"muster/{__version__}", **headers})  # noqa: S310
    if login:
        user, _, password = login.partition(":")
        token = base64.b64encode(f"{unquote(user)}:{unquote(password)}".encode()).decode()
        # It stays with the host that it is for, also when that sends us on.
        request.add_unredirected_header("Authorization", f"Basic {token}")
    return request


def _proxy_of(request: Request, host: str) -> str:
    """The proxy that the request went to, if it did; never with the login for it."""
    asked: str = request.host or ""
    return "" if asked == host else asked.rpartition("@")[2]
