# SPDX-License-Identifier: Apache-2.0
"""The media server: plain HTTP for firmware that knows nothing else, or TLS, by the same desk.

What is in the base's file goes out by sendfile; what is a medium's own comes from memory in between.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from aiohttp import web

from muster.service.media.desk import Asked, Desk
from muster.serving.delivery import cut, send_parts
from muster.serving.quiet_log import QuietLog
from muster.serving.sending import ClientGone, Means, Unreadable
from muster.serving.server import Place, open_server

_logger: Final = logging.getLogger(__name__)
_READERS: Final = 8
_SENDERS: Final = 64
_GRACE_S: Final = 5.0
"""What running transfers get when the server is ended."""


class Counter:
    """Serves requests of aiohttp with the answers of a desk."""

    def __init__(self, desk: Desk, patience_s: float) -> None:
        self._desk = desk
        self._readers = ThreadPoolExecutor(_READERS, "media-read")
        self._senders = ThreadPoolExecutor(_SENDERS, "media-send")
        self._means = Means(self._senders, patience_s)
        self._quiet = QuietLog(_logger, time.monotonic)
        self._active = 0
        self.idle = asyncio.Event()
        """Set while nobody is being answered."""
        self.idle.set()

    def close(self) -> None:
        for pool in (self._readers, self._senders):
            pool.shutdown(cancel_futures=True)

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        self._active += 1
        self.idle.clear()
        try:
            return await self._serve(request)
        except ClientGone as error:
            _logger.debug("%s went away: %s", request.remote, error)
            raise cut(request) from error
        except Unreadable as error:
            self._report("a base image cannot be read: %s", error)
            raise cut(request) from error
        except ConnectionResetError:
            raise
        except Exception as error:
            self._report("a request for a medium failed: %r", error)
            raise cut(request) from error
        finally:
            self._active -= 1
            if not self._active:
                self.idle.set()

    def _report(self, message: str, error: Exception) -> None:
        """One line a minute for each kind of error: clients repeat what failed."""
        self._quiet.write(logging.ERROR, type(error).__name__, message, error)

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        asked = Asked(request.method, request.path, dict(request.query), headers)
        loop = asyncio.get_running_loop()
        reply = await loop.run_in_executor(self._readers, self._desk.answer, asked)
        try:
            return await send_parts(request, reply.head, reply.parts, self._means)
        finally:
            reply.close()


@contextlib.asynccontextmanager
async def serve_media(desk: Desk, place: Place, grace_s: float = _GRACE_S) -> AsyncIterator[None]:
    """Serve media until the body ends; transfers that run then get a moment to end, too."""
    counter = Counter(desk, place.patience_s)

    async def let_end() -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(counter.idle.wait(), grace_s)

    try:
        async with open_server(counter, place, _logger, let_end):
            yield
    finally:
        counter.close()
