# SPDX-License-Identifier: Apache-2.0
"""An answer goes out through aiohttp: its head first, then bytes past all buffers of this process.

A client that takes nothing is given up; an answer that cannot be completed ends its connection, so that
nobody takes what was sent for the whole.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from typing import Final

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter

from muster.serving.accept import reset
from muster.serving.connections import Connection
from muster.serving.head import Head
from muster.serving.sending import ClientGone, Means, NoSendfile, Part, Rest, send_copied, send_plain

_LARGE: Final = 64 << 10
"""Bytes of an answer that is a transfer: its connection leaves those of strangers meanwhile."""
_QUEUED: Final = 64 << 10


async def send_small(request: web.BaseRequest, head: Head, body: bytes, means: Means) -> web.StreamResponse:
    """Send an answer that is in memory; a request for the head alone gets no body."""
    response = _begin(head)
    async with _patience(means):
        await response.prepare(request)
        if body and request.method != "HEAD":
            await response.write(body)
        await response.write_eof()
    return response


async def send_parts(
    request: web.BaseRequest, head: Head, parts: Iterable[Part], means: Means
) -> web.StreamResponse:
    """Send an answer whose body is made of parts of files; a request for the head alone gets no body."""
    response, rest = _begin(head), Rest(parts if request.method != "HEAD" else ())
    transport = request.transport
    connection = connection_of(request)
    with contextlib.ExitStack() as stack:
        if connection is not None and head.length > _LARGE and rest:
            stack.enter_context(connection.transfer())
        moved = _nothing if connection is None else connection.touch
        async with _patience(means):
            writer = await response.prepare(request)
        if writer is None or transport is None:
            raise ClientGone("it closed the connection")
        if transport.get_extra_info("sslcontext") is not None:
            transport.set_write_buffer_limits(_QUEUED)
        elif await _flush(transport, writer, means):
            with contextlib.suppress(NoSendfile):
                await send_plain(transport, rest, means, moved)
        await send_copied(response.write, rest, means, moved)
        await response.write_eof()
    return response


def connection_of(request: web.BaseRequest) -> Connection | None:
    """The connection of a request, on servers that count them."""
    found: Connection | None = getattr(request.protocol, "connection", None)
    return found


def cut(request: web.BaseRequest) -> ConnectionResetError:
    """End a connection so that nobody takes what was sent for the whole; to be raised."""
    if request.transport is not None:
        reset(request.transport)
    return ConnectionResetError("the answer was not completed")


def _begin(head: Head) -> web.StreamResponse:
    response = web.StreamResponse(status=head.status, headers={"Server": "muster", **dict(head.headers)})
    if head.status not in (204, 304):
        response.content_length = head.length
    return response


async def _flush(transport: asyncio.WriteTransport, writer: AbstractStreamWriter, means: Means) -> bool:
    """Wait until the kernel has the headers: what follows them goes past all that waits here."""
    transport.set_write_buffer_limits(0)
    async with _patience(means):
        await writer.drain()
    return transport.get_write_buffer_size() == 0


@contextlib.asynccontextmanager
async def _patience(means: Means) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(means.patience_s):
            yield
    except TimeoutError as error:
        raise ClientGone(f"it took nothing for {means.patience_s:g} s") from error
    except ConnectionError as error:
        raise ClientGone("it closed the connection") from error


def _nothing() -> None:
    pass
