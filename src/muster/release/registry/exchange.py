# SPDX-License-Identifier: Apache-2.0
"""One request after the other: HTTP in, the answer of the policy out, with bytes from the store."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO, Final, TypeVar

from aiohttp import web

from muster.errors import MusterError
from muster.release.oci.digest import Digest
from muster.release.registry.access import Access, render_challenge
from muster.release.registry.answer import answer
from muster.release.registry.asked import Asked
from muster.release.registry.current import Current
from muster.release.registry.reply import Code, Reply, Trouble, render_error
from muster.release.store.store import Store
from muster.serving.delivery import cut, send_parts, send_small
from muster.serving.head import Head
from muster.serving.quiet_log import QuietLog
from muster.serving.sending import ClientGone, FilePart, Means, Unreadable

T = TypeVar("T")
_logger: Final = logging.getLogger(__name__)
_READERS: Final = 8
_SENDERS: Final = 64
_LONGEST_PATH: Final = 300
_NOT_READABLE: Final = "the store that is served cannot be read"


class Exchange:
    """Answers requests; aiohttp calls it for each."""

    def __init__(self, store: Store, users: Mapping[str, bytes], patience_s: float) -> None:
        self._store = store
        self._current = Current(store)
        self._readers = ThreadPoolExecutor(_READERS, "registry-read")
        self._senders = ThreadPoolExecutor(_SENDERS, "registry-send")
        self._checker = ThreadPoolExecutor(1, "registry-login")
        self._access = Access(users, self._checker)
        self._means = Means(self._senders, patience_s)
        self._failures = QuietLog(_logger, time.monotonic)
        self._troubles = QuietLog(_logger, time.monotonic)
        self._active = 0
        self.idle = asyncio.Event()
        """Set while nobody is being answered."""
        self.idle.set()

    @property
    def count(self) -> int:
        """How many names are served."""
        return self._current.shelf().names.count

    def close(self) -> None:
        for pool in (self._readers, self._senders, self._checker):
            pool.shutdown(cancel_futures=True)

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        self._active += 1
        self.idle.clear()
        began = time.monotonic()
        reply = Reply(0)
        try:
            reply = await self._answer(request)
            return await self._deliver(request, reply)
        except ClientGone as error:
            _logger.debug("%s went away: %s", request.remote, error)
            raise cut(request) from error
        except ConnectionResetError:
            raise
        except Exception as error:
            self._note_failure(request, error)
            raise cut(request) from error
        finally:
            _log_access(request, reply, time.monotonic() - began)
            self._active -= 1
            if not self._active:
                self.idle.set()

    async def _answer(self, request: web.BaseRequest) -> Reply:
        headers = {name.lower(): value for name, value in request.headers.items()}
        asked = Asked(request.method, request.path, dict(request.query), headers)
        if not await self._access.admits(headers.get("authorization", "")):
            return render_challenge()
        try:
            reply = await self._aside(lambda: answer(asked, self._current.shelf()))
        except Exception as error:  # noqa: BLE001 - the edge: the others go on being served
            self._note_failure(request, error)
            return render_error(500, Code.UNKNOWN, "this is a bug in Muster; the registry's log says more")
        if reply.trouble:
            await self._report(reply.trouble)
        return reply

    async def _deliver(self, request: web.BaseRequest, reply: Reply) -> web.StreamResponse:
        digest = reply.digest
        if digest is None or request.method == "HEAD":
            return await self._send_small(request, reply)
        try:
            file = await self._aside(lambda: self._open(digest))
        except MusterError as error:
            await self._report(Trouble(digest, error.message))
            return await self._send_small(request, render_error(500, Code.UNKNOWN, _NOT_READABLE))
        with file:
            try:
                return await self._send_blob(request, reply, file)
            except Unreadable as error:
                await self._report(Trouble(digest, str(error)))
                raise cut(request) from error

    async def _send_small(self, request: web.BaseRequest, reply: Reply) -> web.StreamResponse:
        return await send_small(request, _head(reply), reply.body, self._means)

    async def _send_blob(self, request: web.BaseRequest, reply: Reply, file: BinaryIO) -> web.StreamResponse:
        assert reply.span is not None
        return await send_parts(request, _head(reply), [FilePart(file, reply.span)], self._means)

    async def _aside(self, do: Callable[[], T]) -> T:
        """Do what reads the store in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, do)

    def _open(self, digest: Digest) -> BinaryIO:
        file = self._store.blobs.open(digest)
        with contextlib.suppress(OSError):
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL)
        return file

    async def _report(self, trouble: Trouble) -> None:
        """Tell the operator what is damaged, and what cannot be installed because of it."""
        shelf = self._current.shelf()
        needers = await self._aside(lambda: shelf.find_needers(trouble.digest))
        level = logging.WARNING if trouble.is_missing else logging.ERROR
        self._troubles.write(
            level,
            f"{trouble.digest} {trouble.why}",
            "%s cannot be served: %s; needed by %s",
            trouble.digest,
            trouble.why,
            ", ".join(needers),
        )

    def _note_failure(self, request: web.BaseRequest, error: Exception) -> None:
        """One line a minute for each kind of error: clients repeat what failed."""
        message = "%s %s failed: %r"
        self._failures.write(
            logging.ERROR, type(error).__name__, message, request.method, request.path[:_LONGEST_PATH], error
        )


def _head(reply: Reply) -> Head:
    return Head(reply.status, reply.headers, reply.length)


def _log_access(request: web.BaseRequest, reply: Reply, seconds: float) -> None:
    _logger.debug(
        "%s %s %s %d %d bytes %.0f ms",
        request.remote, request.method, request.raw_path, reply.status, reply.length, seconds * 1000,
    )  # fmt: skip
