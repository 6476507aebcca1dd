# SPDX-License-Identifier: Apache-2.0
"""Fetching something small from elsewhere, with an end to it in any case."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Final

import aiohttp

from muster.frozen import dataclass

DEADLINE_S: Final = 30.0
MAX_BYTES: Final = 32 << 20
_TOLD_BYTES: Final = 512
_OK: Final = 200


class NotFetched(Exception):
    """Nothing came; the text says why."""


@dataclass(frozen=True)
class Request:
    """What is to be fetched."""

    url: str
    headers: Mapping[str, str]
    authorities: str = ""
    """Certificates that are trusted besides those of the system, as PEM."""


def make_context(authorities: str) -> ssl.SSLContext:
    """Trust in servers."""
    context = ssl.create_default_context()
    if authorities:
        try:
            context.load_verify_locations(cadata=authorities)
        except (ssl.SSLError, ValueError) as error:
            raise NotFetched(f"the certificate authority cannot be read: {error}") from error
    return context


async def fetch(request: Request, *, deadline_s: float = DEADLINE_S) -> bytes:
    """The body. Whatever else happens is `NotFetched`."""
    context = make_context(request.authorities)
    timeout = aiohttp.ClientTimeout(total=deadline_s)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, trust_env=True) as session,
            session.get(request.url, headers=request.headers, ssl=context) as response,
        ):
            body = await _read(response)
            if response.status != _OK:
                raise NotFetched(f"{response.status} {response.reason}: {tell(body)}".rstrip(": "))
            return body
    except TimeoutError:
        raise NotFetched(f"no answer within {deadline_s:g} s") from None
    except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError):
        raise NotFetched(f"{request.url} is no address of a web server") from None
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise NotFetched(str(error) or type(error).__name__) from error


async def _read(response: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > MAX_BYTES:
            raise NotFetched(f"more than {MAX_BYTES >> 20} MiB came")
    return bytes(body)


def tell(body: bytes) -> str:
    """The beginning of a body that is not what it should be."""
    return body[:_TOLD_BYTES].decode(errors="replace").strip()
