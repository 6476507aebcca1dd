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
import socket
import struct
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from typing import BinaryIO, Final

from muster.frozen import dataclass
from muster.release.registry.asked import Span

_BURST: Final = 64 << 20
"""What one client gets before others have their turn."""
_CHUNK: Final = 1 << 20
"""What goes through this process at a time."""
_MOMENT_US: Final = 100_000
_NETWORK: Final = (errno.EHOSTUNREACH, errno.EHOSTDOWN, errno.ENETUNREACH, errno.ENETDOWN, errno.ENETRESET)

_SHORT: Final = "it ends too early"
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

    def __init__(self, transport: asyncio.Transport, file: BinaryIO) -> None:
        if transport.is_closing():
            raise ClientGone("it closed the connection")
        self.out: socket.socket = transport.get_extra_info("socket").dup()
        try:
            moment = struct.pack("ll", 0, _MOMENT_US)
            self.out.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, moment)
            self.source = os.dup(file.fileno())
        except OSError:
            self.out.close()
            raise
        self._transport = transport
        self._was_reading = transport.is_reading()
        transport.pause_reading()

    def send(self, span: Span) -> int | None:
        """Send until it is done or the client takes nothing for a moment: how much it took, if anything."""
        # A thread that the kernel lets sleep needs half the time of one that polls. Nobody else uses the
        # socket meanwhile, whose mode is that of all its descriptors.
        os.set_blocking(self.out.fileno(), True)
        try:
            return os.sendfile(self.out.fileno(), self.source, span.start, span.count)
        except BlockingIOError:
            return None
        finally:
            os.set_blocking(self.out.fileno(), False)

    def close(self) -> None:
        if self._was_reading and not self._transport.is_closing():
            self._transport.resume_reading()
        self.out.close()
        os.close(self.source)

    def close_after(self, burst: asyncio.Future[int | None]) -> None:
        """Close when a thread that is still sending has noticed that nobody listens any more."""
        with contextlib.suppress(OSError):
            self.out.shutdown(socket.SHUT_RDWR)
        burst.add_done_callback(lambda _: self.close())


async def send_plain(transport: asyncio.Transport, file: BinaryIO, span: Span, means: Means) -> None:
    """Send to a client without encryption; whatever was written to it before has to be on its way."""
    ends = _Ends(transport, file)
    loop = asyncio.get_running_loop()
    burst: asyncio.Future[int | None] | None = None
    done = 0
    try:
        while done < span.count:
            rest = Span(span.start + done, min(span.count - done, _BURST))
            burst = loop.run_in_executor(means.pool, ends.send, rest)
            sent = await asyncio.shield(burst)
            if sent is None:
                await _wait_until_taken(ends.out, means.patience_s)
            elif sent == 0:
                raise Unreadable(_SHORT)
            else:
                done += sent
    except OSError as error:
        trouble = _explain(error)
        raise Unreadable(str(trouble)) if done and isinstance(trouble, NoSendfile) else trouble from error
    finally:
        if burst is None or burst.done():
            ends.close()
        else:
            ends.close_after(burst)


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
            raise Unreadable(_SHORT)
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
