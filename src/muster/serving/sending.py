# SPDX-License-Identifier: Apache-2.0
"""Sends parts of files, and bytes between them, to a client; files by the kernel, from the page cache.

A medium can be slow, and a damaged one can take its time before it says so; meanwhile all other clients want
to go on. So files are read in threads, never in the event loop. A client can be slow, too: then a thread
sends only what the kernel takes at once, and the event loop waits for the client. For a client that is fast,
threads wait themselves, which takes half the time; after a quarter of a second others have their turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
import struct
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import Executor
from dataclasses import field
from functools import partial
from typing import BinaryIO, Final

from muster.frozen import dataclass
from muster.serving.ranges import Span

_BURST_S: Final = 0.25
"""How long one client gets a thread before others have their turn."""
_SAMPLE: Final = 2 << 20
"""Bytes by which the speed of a client is measured."""
_FAST: Final = 32 << 20
"""Bytes per second of a client for which threads wait."""
_LEAST_CALL: Final = 512 << 10
_MOST_CALL: Final = 4 << 20
"""Bytes of one call of the kernel: more of them as long as a burst goes on. A call ends when the client takes
less than 64 KiB in `_MOMENT_US`: even a client that becomes slow on purpose holds a thread for a second.
"""
_MOMENT_US: Final = 20_000
_SMALL: Final = 64 << 10
_LARGE: Final = 1 << 20
"""What goes through this process at a time: little for clients that are slow, much for some that are fast."""
MAX_LARGE: Final = 32
"""Clients with large chunks at the same time."""
_QUICK_S: Final = 0.05
_NETWORK: Final = (errno.EHOSTUNREACH, errno.EHOSTDOWN, errno.ENETUNREACH, errno.ENETDOWN, errno.ENETRESET)

_SHORT: Final = "it ends too early"
_NO_SENDFILE: Final = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)


class ClientGone(Exception):
    """The client went away, or takes nothing any more."""


class NoSendfile(Exception):
    """The file is on a file system from which the kernel cannot send."""


class Unreadable(Exception):
    """The file cannot be read, or is shorter than it was."""


@dataclass(frozen=True)
class Means:
    """What is sent with."""

    pool: Executor
    patience_s: float
    """How long a client may take nothing."""
    large: set[object] = field(default_factory=set)
    """Transfers that have large chunks in memory now."""


@dataclass(frozen=True)
class FilePart:
    """Some bytes of an open file."""

    file: BinaryIO
    span: Span


Part = FilePart | bytes


def count_bytes(part: Part) -> int:
    """How large a part is."""
    return part.span.count if isinstance(part, FilePart) else len(part)


def _nothing() -> None:
    pass


class Rest:
    """What is still to be sent. Whichever way sends takes over where another one ended."""

    def __init__(self, parts: Iterable[Part]) -> None:
        self._parts: deque[Part] = deque(part for part in parts if count_bytes(part))
        self._done = 0
        """Of the first part."""

    def __bool__(self) -> bool:
        return bool(self._parts)

    @property
    def files(self) -> set[int]:
        """The descriptors of all files."""
        return {part.file.fileno() for part in self._parts if isinstance(part, FilePart)}

    def head(self, limit: int) -> FilePart | memoryview:
        """What comes next, and not more of it than asked for."""
        part = self._parts[0]
        count = min(count_bytes(part) - self._done, limit)
        if isinstance(part, FilePart):
            return FilePart(part.file, Span(part.span.start + self._done, count))
        return memoryview(part)[self._done : self._done + count]

    def advance(self, count: int) -> None:
        """That many bytes are on their way."""
        self._done += count
        if self._done == count_bytes(self._parts[0]):
            self._parts.popleft()
            self._done = 0


@dataclass(frozen=True)
class _Burst:
    """What a thread sent."""

    count: int
    seconds: float
    is_full: bool
    """Whether the client takes nothing more at the moment."""


class _Ends:
    """The two ends of a transfer, by descriptors of its own.

    Those of others may be closed at any time, and then belong to another client or another file.
    """

    def __init__(self, transport: asyncio.Transport, rest: Rest) -> None:
        if transport.is_closing():
            raise ClientGone("it closed the connection")
        self.out = socket.socket(fileno=os.dup(transport.get_extra_info("socket").fileno()))
        self._sources: dict[int, int] = {}
        try:
            moment = struct.pack("ll", 0, _MOMENT_US)
            self.out.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, moment)
            for number in rest.files:
                self._sources[number] = os.dup(number)
        except OSError:
            self._close_all()
            raise
        self._rest = rest
        self._transport = transport
        self._was_reading = transport.is_reading()
        transport.pause_reading()

    def send(self, *, waits: bool) -> _Burst:
        """Send for a while, or until the client takes nothing more at the moment."""
        # A thread that the kernel lets sleep needs half the time of one that polls. Nobody else uses the
        # socket meanwhile, whose mode is that of all its descriptors.
        os.set_blocking(self.out.fileno(), waits)
        total, began = 0, time.monotonic()
        size, is_full = _LEAST_CALL, False
        try:
            while self._rest and time.monotonic() - began < _BURST_S:
                sent = self._send_some(size)
                self._rest.advance(sent)
                total += sent
                size = min(2 * size, _MOST_CALL)
        except BlockingIOError:
            is_full = True
        finally:
            os.set_blocking(self.out.fileno(), False)
        return _Burst(total, time.monotonic() - began, is_full)

    def _send_some(self, limit: int) -> int:
        head = self._rest.head(limit)
        if isinstance(head, memoryview):
            return os.write(self.out.fileno(), head)
        source, span = self._sources[head.file.fileno()], head.span
        sent = os.sendfile(self.out.fileno(), source, span.start, span.count)
        if sent == 0:
            raise Unreadable(_SHORT)
        return sent

    def close(self) -> None:
        if self._was_reading and not self._transport.is_closing():
            self._transport.resume_reading()
        self._close_all()

    def close_after(self, burst: asyncio.Future[_Burst]) -> None:
        """Close when a thread that is still sending has noticed that nobody listens any more."""
        with contextlib.suppress(OSError):
            self.out.shutdown(socket.SHUT_RDWR)
        burst.add_done_callback(lambda _: self.close())

    def _close_all(self) -> None:
        self.out.close()
        for source in self._sources.values():
            os.close(source)


async def send_plain(
    transport: asyncio.Transport, rest: Rest, means: Means, moved: Callable[[], object] = _nothing
) -> None:
    """Send to a client without encryption; whatever was written to it before has to be on its way.

    ``moved`` is called each time that the client has taken some.
    """
    ends = _Ends(transport, rest)
    loop = asyncio.get_running_loop()
    running: asyncio.Future[_Burst] | None = None
    is_fast, count, seconds = True, 0, 0.0
    try:
        while rest:
            running = loop.run_in_executor(means.pool, partial(ends.send, waits=is_fast))
            burst = await asyncio.shield(running)
            if burst.count:
                moved()
            if burst.is_full and rest:
                seconds += await _wait_until_taken(ends.out, means.patience_s)
            count, seconds = count + burst.count, seconds + burst.seconds
            if is_fast or count >= _SAMPLE:
                is_fast = count >= _FAST * seconds
                count, seconds = 0, 0.0
    except OSError as error:
        raise _explain(error) from error
    finally:
        if running is None or running.done():
            ends.close()
        else:
            ends.close_after(running)


async def _wait_until_taken(out: socket.socket, patience_s: float) -> float:
    """Wait until the client has taken some; for how many seconds."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_writer(out, _set, ready)
    try:
        async with asyncio.timeout(patience_s):
            await ready
    except TimeoutError as error:
        raise ClientGone(f"it took nothing for {patience_s:g} s") from error
    finally:
        loop.remove_writer(out)
    return loop.time() - began


def _set(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)


async def send_copied(
    write: Callable[[bytes], Awaitable[None]],
    rest: Rest,
    means: Means,
    moved: Callable[[], object] = _nothing,
) -> None:
    """Send through this process: to encrypt it, or because the kernel cannot do it alone."""
    loop, this, size = asyncio.get_running_loop(), object(), _SMALL
    try:
        while rest:
            chunk = await _load(rest.head(size), means)
            began = loop.time()
            try:
                async with asyncio.timeout(means.patience_s):
                    await write(chunk)
            except TimeoutError as error:
                raise ClientGone(f"it took nothing for {means.patience_s:g} s") from error
            except OSError as error:
                raise ClientGone(error.strerror or str(error)) from error
            rest.advance(len(chunk))
            moved()
            means.large.discard(this)
            size = _SMALL
            if loop.time() - began < _QUICK_S and len(means.large) < MAX_LARGE:
                means.large.add(this)
                size = _LARGE
    finally:
        means.large.discard(this)


async def _load(head: FilePart | memoryview, means: Means) -> bytes:
    if isinstance(head, memoryview):
        return bytes(head)
    loop = asyncio.get_running_loop()
    span = head.span
    try:
        chunk = await loop.run_in_executor(means.pool, os.pread, head.file.fileno(), span.count, span.start)
    except OSError as error:
        raise _explain(error) from error
    if not chunk:
        raise Unreadable(_SHORT)
    return chunk


def _explain(error: OSError) -> ClientGone | Unreadable | NoSendfile:
    """Whose fault it is when both ends can fail."""
    reason = (error.strerror or str(error)).lower()
    if isinstance(error, ConnectionError | TimeoutError) or error.errno in _NETWORK:
        return ClientGone(reason)
    if error.errno in _NO_SENDFILE:
        return NoSendfile(reason)
    return Unreadable(reason)
