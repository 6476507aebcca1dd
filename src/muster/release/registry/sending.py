# SPDX-License-Identifier: Apache-2.0
"""Sends some of a file to a client, the kernel copying it from the page cache to the socket.

A medium can be slow, and a damaged one can take its time before it says so; meanwhile all other clients want
to go on. So the file is read in threads, never in the event loop. A client can be slow, too; so a thread is
given up when its client takes nothing for a moment, and the event loop waits for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import select
import socket
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from typing import BinaryIO, Final

from muster.frozen import dataclass
from muster.release.registry.asked import Span

_BURST: Final = 64 << 20
"""What one client gets before others have their turn."""
_PIECE: Final = 4 << 20
_CHUNK: Final = 1 << 20
"""What goes through this process at a time."""
_MOMENT_MS: Final = 20
_NETWORK: Final = (errno.EHOSTUNREACH, errno.EHOSTDOWN, errno.ENETUNREACH, errno.ENETDOWN, errno.ENETRESET)

_NO_SENDFILE: Final = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)


class ClientGone(Exception):
    """The client went away, or takes nothing any more."""


class NoSendfile(Exception):
    """The file is on a file system from which the kernel cannot send; nothing was sent."""


class Unreadable(Exception):
    """The file cannot be read, or is shorter than it was."""


@dataclass(frozen=True)
class Means:
    """What is sent with."""

    pool: Executor
    patience_s: float
    """How long a client may take nothing."""


class _Ends:
    """The two ends of a transfer, by descriptors of its own.

    Those of others may be closed at any time, and then belong to another client or another file.
    """

    def __init__(self, transport: asyncio.BaseTransport, file: BinaryIO) -> None:
        self.out: socket.socket = transport.get_extra_info("socket").dup()
        self.out.setblocking(False)
        self.source = os.dup(file.fileno())

    def close(self) -> None:
        self.out.close()
        os.close(self.source)

    def close_after(self, burst: asyncio.Future[int]) -> None:
        """Close when a thread that is still sending has noticed that nobody listens any more."""
        with contextlib.suppress(OSError):
            self.out.shutdown(socket.SHUT_RDWR)
        burst.add_done_callback(lambda _: self.close())


async def send_plain(transport: asyncio.BaseTransport, file: BinaryIO, span: Span, means: Means) -> None:
    """Send to a client without encryption; whatever was written to it before has to be on its way."""
    ends = _Ends(transport, file)
    loop = asyncio.get_running_loop()
    burst: asyncio.Future[int] | None = None
    done = 0
    try:
        while done < span.count:
            rest = Span(span.start + done, min(span.count - done, _BURST))
            burst = loop.run_in_executor(means.pool, _send_burst, ends, rest)
            sent = await asyncio.shield(burst)
            done += sent
            if not sent:
                await _wait_until_taken(ends.out, means.patience_s)
    except NoSendfile:
        if done:
            raise Unreadable("it is of another kind now") from None
        raise
    finally:
        if burst is None or burst.done():
            ends.close()
        else:
            ends.close_after(burst)


def _send_burst(ends: _Ends, span: Span) -> int:
    """Send until it is done or the client takes no more; how much it took."""
    poll = select.poll()
    poll.register(ends.out, select.POLLOUT)
    sent = 0
    while sent < span.count:
        try:
            left = min(span.count - sent, _PIECE)
            count = os.sendfile(ends.out.fileno(), ends.source, span.start + sent, left)
        except BlockingIOError:
            if not poll.poll(_MOMENT_MS):
                break
            continue
        except OSError as error:
            raise _explain(error) from error
        if count == 0:
            raise Unreadable("it ends too early")
        sent += count
    return sent


async def _wait_until_taken(out: socket.socket, patience_s: float) -> None:
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_writer(out, _set, ready)
    try:
        async with asyncio.timeout(patience_s):
            await ready
    except TimeoutError as error:
        raise ClientGone(f"it took nothing for {patience_s:g} s") from error
    finally:
        loop.remove_writer(out)


def _set(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)


async def send_copied(
    write: Callable[[bytes], Awaitable[None]], file: BinaryIO, span: Span, means: Means
) -> None:
    """Send through this process: to encrypt it, or because the kernel cannot do it alone."""
    loop = asyncio.get_running_loop()
    done = 0
    while done < span.count:
        count = min(span.count - done, _CHUNK)
        try:
            chunk = await loop.run_in_executor(means.pool, os.pread, file.fileno(), count, span.start + done)
        except OSError as error:
            raise _explain(error) from error
        if not chunk:
            raise Unreadable("it ends too early")
        try:
            async with asyncio.timeout(means.patience_s):
                await write(chunk)
        except TimeoutError as error:
            raise ClientGone(f"it took nothing for {means.patience_s:g} s") from error
        except OSError as error:
            raise ClientGone(error.strerror or str(error)) from error
        done += len(chunk)


def _explain(error: OSError) -> ClientGone | Unreadable | NoSendfile:
    """Whose fault it is when both ends can fail."""
    reason = (error.strerror or str(error)).lower()
    if isinstance(error, ConnectionError | TimeoutError) or error.errno in _NETWORK:
        return ClientGone(reason)
    if error.errno in _NO_SENDFILE:
        return NoSendfile(reason)
    return Unreadable(reason)
