# SPDX-License-Identifier: Apache-2.0
"""One request and its answer: proxies, authorities, time limits, and redirects that never carry a login away.

Whatever a server answers is a `Reply`; whatever keeps it from answering is `Unreachable`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import field, replace
from functools import cached_property
from typing import Any, Final, TypeAlias

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

from muster import __version__
from muster.frozen import dataclass
from muster.release.oci.proxies import Proxy, Way, find_way
from muster.release.oci.trouble import (
    Unreachable,
    broken_off,
    explain_os_error,
    refused_by_proxy,
)
from muster.release.oci.trust import build_context, build_open_context

_REDIRECTS: Final = (301, 302, 303, 307, 308)
_MOST_REDIRECTS: Final = 8
_BUFFER: Final = 1 << 20
_LONGEST_HEADER: Final = 64 << 10
"""Links to storage carry a signature, which can be long."""

Body: TypeAlias = bytes | Callable[[], AsyncGenerator[bytes, None]]
"""What is sent; a stream is opened anew each time it is."""


@dataclass(frozen=True)
class Limits:
    """How long to wait for a connection, and for the next bytes in either direction."""

    connect_s: float = 30
    stall_s: float = 60


@dataclass(frozen=True)
class Call:
    """What is asked of a server."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: Body | None = field(default=None, repr=False)
    insecure: bool = False
    """Any certificate will do, and redirects may leave TLS."""


class Reply:
    """What a server answered; its body is read on demand."""

    def __init__(self, response: aiohttp.ClientResponse, host: str, way: str) -> None:
        self._response, self._host, self._way = response, host, way
        self.status = response.status
        self.url = str(response.url)
        self.headers: Mapping[str, str] = {name.lower(): text for name, text in response.headers.items()}
        """By lower-case name."""
        self.challenges: Sequence[str] = response.headers.getall("WWW-Authenticate", ())

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The body, as it comes."""
        while True:
            with _explained(self._host, self._way):
                chunk = await self._response.content.readany()
            if not chunk:
                return
            yield chunk

    async def read(self, limit: int) -> bytes:
        """All of a body that has no more bytes than this."""
        data = await self.read_some(limit + 1)
        if len(data) > limit:
            raise Unreachable(
                f"{self._host} sent more than the {limit} bytes that such an answer may have",
                hint="check that this is a registry",
                passing=False,
            )
        return data

    async def read_some(self, limit: int) -> bytes:
        """The beginning of a body."""
        data = bytearray()
        async with contextlib.aclosing(self.chunks()) as chunks:
            async for chunk in chunks:
                data += chunk
                if len(data) >= limit:
                    break
        return bytes(data[:limit])


class Transport:
    """The connections of a client. See `open_transport`."""

    def __init__(
        self, session: aiohttp.ClientSession, authorities: Sequence[str], proxy: Proxy, limits: Limits
    ) -> None:
        self._session = session
        self._proxy = proxy
        self._stall_s = limits.stall_s
        self._verified = build_context(authorities)

    @cached_property
    def _open(self) -> Any:
        return build_open_context()

    @asynccontextmanager
    async def request(self, call: Call) -> AsyncIterator[Reply]:
        """Ask, and follow where the answer leads; a body is sent to the first server alone."""
        for _ in range(_MOST_REDIRECTS):
            async with self._exchange(call) as reply:
                location = reply.headers.get("location", "")
                if reply.status not in _REDIRECTS or not location or call.body is not None:
                    yield reply
                    return
                call = redirected(call, location)
        raise _redirected_wrongly(call.url, "in circles, or too often")

    @asynccontextmanager
    async def _exchange(self, call: Call) -> AsyncIterator[Reply]:
        url = _parse_url(call.url)
        host = _shown(url)
        way = find_way(self._proxy, call.url)
        via = way.shown if way else ""
        body = _Sending(call.body, self._stall_s) if callable(call.body) else None
        try:
            with _explained(host, via):
                response = await self._send(call, url, way, body)
            try:
                yield Reply(response, host, via)
            finally:
                response.release()
        finally:
            if body is not None:
                await body.close()

    async def _send(
        self, call: Call, url: URL, way: Way | None, body: _Sending | None
    ) -> aiohttp.ClientResponse:
        headers = dict(call.headers)
        options: dict[str, Any] = {}
        if way is not None:
            options["proxy"] = way.url
            if way.authorization and url.scheme == "https":
                options["proxy_headers"] = {"Proxy-Authorization": way.authorization}
            elif way.authorization:
                headers["Proxy-Authorization"] = way.authorization
        async with asyncio.timeout(None) as limit:
            try:
                return await self._session.request(
                    call.method,
                    url,
                    headers=headers,
                    data=body.begin(limit) if body else call.body,
                    allow_redirects=False,
                    ssl=self._open if call.insecure else self._verified,
                    **options,
                )
            except aiohttp.ClientError:
                if body is not None and body.failure is not None:
                    raise body.failure from None
                raise


class _Sending:
    """A stream on its way to a server, which has to take it in time; what breaks it is kept."""

    def __init__(self, body: Callable[[], AsyncGenerator[bytes, None]], stall_s: float) -> None:
        self._body, self._stall_s = body, stall_s
        self._limit: asyncio.Timeout | None = None
        self._chunks: AsyncGenerator[bytes, None] | None = None
        self.failure: Exception | None = None

    def begin(self, limit: asyncio.Timeout) -> AsyncGenerator[bytes, None]:
        """The stream; the limit is moved on while the server takes it."""
        self._limit, self._chunks = limit, self._run()
        return self._chunks

    async def close(self) -> None:
        """Close the stream, if the server answered before it had all of it."""
        if self._chunks is not None:
            with contextlib.suppress(RuntimeError):  # A cancelled task reads it, and closes it.
                await self._chunks.aclose()

    async def _run(self) -> AsyncGenerator[bytes, None]:
        try:
            async with contextlib.aclosing(self._body()) as chunks:
                async for chunk in chunks:
                    self._reschedule(asyncio.get_running_loop().time() + self._stall_s)
                    yield chunk
                    self._reschedule(None)
        except Exception as error:
            self.failure = error
            raise

    def _reschedule(self, when: float | None) -> None:
        assert self._limit is not None
        with contextlib.suppress(RuntimeError):  # The answer came before the end of the question.
            self._limit.reschedule(when)


@asynccontextmanager
async def open_transport(
    authorities: Sequence[str] = (), proxy: Proxy | None = None, limits: Limits | None = None
) -> AsyncIterator[Transport]:
    """Connections that trust the authorities of the system and these, which are texts in PEM form."""
    limits = limits or Limits()
    timeout = aiohttp.ClientTimeout(
        total=None, connect=2 * limits.connect_s, sock_connect=limits.connect_s, sock_read=limits.stall_s
    )
    async with aiohttp.ClientSession(
        timeout=timeout,
        connector=aiohttp.TCPConnector(limit=0),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        trust_env=False,
        headers={"User-Agent": f"muster/{__version__}", "Accept-Encoding": "identity"},
        read_bufsize=_BUFFER,
        max_line_size=_LONGEST_HEADER,
        max_field_size=_LONGEST_HEADER,
    ) as session:
        yield Transport(session, authorities, proxy or Proxy(), limits)


def redirected(call: Call, location: str) -> Call:
    """What is asked next when a server sends us elsewhere. A login stays with the server that it is for."""
    here = _parse_url(call.url)
    try:
        there = here.join(URL(location, encoded=True)).with_fragment(None)
        host, _ = there.host, there.port
    except ValueError as error:
        raise _redirected_wrongly(call.url, "to what is no URL") from error
    if there.scheme not in ("http", "https") or not host:
        raise _redirected_wrongly(call.url, "to something that is neither HTTP nor HTTPS")
    if here.scheme == "https" and there.scheme != "https" and not call.insecure:
        raise _redirected_wrongly(call.url, "from HTTPS to something that is not")
    headers = call.headers
    if _server(here) != _server(there):
        headers = {name: text for name, text in headers.items() if name.lower() != "authorization"}
    return replace(call, url=str(there), headers=headers)


def is_same_server(one: str, other: str) -> bool:
    """Whether two URLs are of the same server; another one that it names gets no login."""
    return _server(_parse_url(one)) == _server(_parse_url(other))


def _server(url: URL) -> tuple[str, str, int | None]:
    return url.scheme, (url.host or "").lower(), url.port


def _shown(url: URL) -> str:
    """The host, with the port if one is written, and never with a login."""
    return url.raw_authority.rpartition("@")[2]


def _parse_url(text: str) -> URL:
    """A URL as it stands: what is signed may not be written in another way."""
    try:
        url = URL(text, encoded=True)
        if url.scheme in ("http", "https") and url.host and url.port:
            return url
    except ValueError:
        pass
    raise Unreachable("a URL that a server sent is not valid", hint="check the registry", passing=False)


def _redirected_wrongly(url: str, where: str) -> Unreachable:
    host = _shown(_parse_url(url))
    return Unreachable(
        f"{host} redirects {where}", hint="name the registry where the image really is", passing=False
    )


@contextlib.contextmanager
def _explained(host: str, proxy: str) -> Iterator[None]:
    """Turn every way in which a request can fail into Unreachable."""
    try:
        yield
    except aiohttp.ClientHttpProxyError as error:
        answer = f"{error.status} {error.message}".strip()
        raise refused_by_proxy(host, proxy, answer, passing=error.status >= 500) from error
    except aiohttp.ClientConnectorCertificateError as error:
        reason = error.certificate_error
        raise explain_os_error(
            host, proxy, reason if isinstance(reason, OSError) else OSError(str(reason))
        ) from error
    except aiohttp.ClientConnectorError as error:
        raise explain_os_error(host, proxy, error.os_error) from error
    except TimeoutError as error:
        raise explain_os_error(host, proxy, TimeoutError()) from error
    except aiohttp.InvalidURL as error:
        raise Unreachable(f"the URL for {host} is not valid", hint="check it", passing=False) from error
    except (aiohttp.ClientError, HttpProcessingError) as error:
        raise broken_off(host) from error
    except OSError as error:
        raise explain_os_error(host, proxy, error) from error
