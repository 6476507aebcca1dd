# SPDX-License-Identifier: Apache-2.0
"""The log of a host: the last lines that it reported, or the end of the journal in its archive."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Annotated, Final

from muster.errors import MusterError
from muster.model.wire.struct import Wire, about
from muster.release.tar_stream import Entry, Kind, TarReader
from muster.release.unpack import HEAD_BYTES, find_unpacker
from muster.service.refusals import Unavailable

MAX_UNPACKED: Final = 256 << 20
"""Bytes of an archive that are unpacked."""
MAX_ENTRIES: Final = 10_000
MAX_LOOKED: Final = 2_000_000
"""Lines that are compared one by one with the text that is looked for."""
MAX_SECONDS: Final = 20.0
_SLICE: Final = 256 << 10
"""As much as is worked on at once, so that other threads get their turn."""
_MOST_LINE: Final = 4000
_MOST_LINE_BYTES: Final = 4 * _MOST_LINE
_KEPT: Final = 2000
_KEPT_CHARACTERS: Final = 256 << 10
_GZIP: Final = b"\x1f\x8b"
_TEXT: Final = ("journal", ".log", ".txt")


class HostLog(Wire, frozen=True, kw_only=True):
    """Lines of a host's log."""

    lines: tuple[str, ...]
    complete: Annotated[bool, about("Whether that is all there is, or more lines come before these.")]
    live: Annotated[
        bool, about("The host tells these as it writes them; otherwise it sent them as a file.")
    ] = False
    next: Annotated[int, about("What to send as `after` to get what came since.")] = 0
    file: Annotated[
        str, about("The file of the archive that they are from; nothing: no log was sent yet.")
    ] = ""


class Tail:
    """The last lines that a host told, numbered; in memory, as nothing depends on them."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque()
        self._count = 0
        self._characters = 0

    def add(self, lines: tuple[str, ...]) -> None:
        """The host wrote these."""
        for line in lines:
            kept = line[:_MOST_LINE]
            self._lines.append(kept)
            self._characters += len(kept)
        self._count += len(lines)
        while len(self._lines) > _KEPT or self._characters > _KEPT_CHARACTERS:
            self._characters -= len(self._lines.popleft())

    def has_shown(self, after: int) -> bool:
        """Whether nothing came since."""
        return after == self._count

    def show(self, count: int, needle: str = "", after: int = 0) -> HostLog:
        """The last lines after a number that contain a text."""
        first = self._count - len(self._lines)
        start = after if after <= self._count else 0  # The service was started again since.
        looked = [line for number, line in enumerate(self._lines, first + 1) if number > start]
        found = [line for line in looked if needle.casefold() in line.casefold()]
        complete = len(found) <= count and start >= first
        return HostLog(lines=tuple(found[-count:]), complete=complete, live=True, next=self._count)


class Turns:
    """Work that is done one at a time; others wait, but not too many and not too long."""

    def __init__(self, what: str, most: int = 20, seconds: float = 60.0) -> None:
        self._what, self._most, self._seconds = what, most, seconds
        self._turn = asyncio.Lock()
        self._waiting = 0

    @contextlib.asynccontextmanager
    async def take(self) -> AsyncIterator[None]:
        """Wait for a turn; Unavailable when that takes too long."""
        busy = Unavailable(f"too many requests read {self._what} at the moment", hint="retry later")
        if self._waiting >= self._most:
            raise busy
        self._waiting += 1
        try:
            async with asyncio.timeout(self._seconds):
                await self._turn.acquire()
        except TimeoutError:
            raise busy from None
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._turn.release()


class _Exceeded(Exception):
    """The rest of an archive is not read, for this reason."""


def read_log(
    archive: Iterable[bytes], count: int, needle: str = "", clock: Callable[[], float] = time.monotonic
) -> HostLog:
    """The last lines of the journal in an archive that comes in pieces; those that contain a text, if any.

    Memory, unpacked bytes, entries, lines and time are bounded. What was not read is said in the last line.
    """
    reading, deadline = _Reading(count, needle.casefold()), clock() + MAX_SECONDS
    note = ""
    try:
        try:
            _feed(archive, reading, clock, deadline)
        finally:
            reading.lines.end()
    except _Exceeded as error:
        note = f"[the rest of the archive was not read: {error}; download it to see all]"
    except MusterError:
        note = "[the archive that the host sent cannot be read to its end]"
        if reading.best is None:
            return HostLog(lines=("the archive that the host sent cannot be read",), complete=True)
    if reading.best is None:
        return HostLog(lines=(note,) if note else (), complete=not note)
    lines, seen = reading.lines.show()
    return HostLog(
        lines=(*lines, note) if note else lines, complete=seen <= count and not note, file=reading.best.name
    )


def _feed(archive: Iterable[bytes], reading: _Reading, clock: Callable[[], float], deadline: float) -> None:
    tar, size = TarReader("the archive", reading.begin), 0
    for piece in _unpacked(archive):
        size += len(piece)
        if size > MAX_UNPACKED:
            raise _Exceeded(f"it unpacks to more than {MAX_UNPACKED >> 20} MiB")
        for start in range(0, len(piece), _SLICE):
            if clock() > deadline:
                raise _Exceeded(f"it takes more than {MAX_SECONDS:g} s")
            tar.feed(piece[start : start + _SLICE])
    tar.finish()
    if not size:
        tar.feed(bytes(1))  # An archive without a single byte is none.
        tar.finish()


def _unpacked(archive: Iterable[bytes]) -> Iterator[bytes]:
    """Packed with gzip, or not at all: other formats let an archive ask for more memory than is given."""
    pieces = iter(archive)
    head = b""
    while len(head) < HEAD_BYTES and (piece := next(pieces, b"")):
        head += piece
    unpacker = find_unpacker(head, "the archive") if head.startswith(_GZIP) else None
    if unpacker is None:
        yield head
        yield from pieces
        return
    yield from unpacker.unpack(head)
    for piece in pieces:
        yield from unpacker.unpack(piece)
    unpacker.finish()


class _Reading:
    """The best file so far, and its lines."""

    def __init__(self, count: int, needle: str) -> None:
        self._count, self._needle = count, needle
        self._entries = 0
        self.best: Entry | None = None
        self.lines = _Lines(count, needle)

    def begin(self, entry: Entry) -> _Lines | None:
        """Take the content of an entry if it is better than those before."""
        self._entries += 1
        if self._entries > MAX_ENTRIES:
            raise _Exceeded(f"it has more than {MAX_ENTRIES} entries")
        if entry.kind is not Kind.FILE or not _is_better(entry, self.best):
            return None
        self.best, self.lines = entry, _Lines(self._count, self._needle)
        return self.lines


def _is_better(entry: Entry, best: Entry | None) -> bool:
    """The journal is what people look for; without one, the longest text."""
    name = entry.name.rpartition("/")[2]
    if not any(part in name for part in _TEXT):
        return False
    if best is None:
        return True
    ours, theirs = "journal" in name, "journal" in best.name.rpartition("/")[2]
    return ours > theirs or (ours == theirs and entry.size_bytes > best.size_bytes)


class _Lines:
    """The last lines of a text that contain a word, while the text comes."""

    def __init__(self, count: int, needle: str) -> None:
        self._needle = needle
        self._kept: deque[bytes | str] = deque(maxlen=max(0, count))
        self._count = max(0, count)
        self._seen = self._looked = 0
        self._open = b""
        """The beginning of the line that has no end yet."""

    def write(self, data: memoryview) -> None:
        """The next bytes."""
        head, newline, rest = bytes(data).partition(b"\n")
        self._open += head[: _MOST_LINE_BYTES - len(self._open)]
        if not newline:
            return
        self._take((self._open,))
        body, newline, tail = rest.rpartition(b"\n")
        self._open = tail[:_MOST_LINE_BYTES]
        if newline:
            self._take_all(body)

    def _take_all(self, body: bytes) -> None:
        if self._needle:
            if self._needle in body.decode("utf-8", "replace").casefold():
                self._take(body.split(b"\n"))
            return
        self._seen += body.count(b"\n") + 1
        last = body.rsplit(b"\n", self._count)
        # What stands before the last lines is one piece, and no line.
        self._kept.extend(last[1:] if len(last) > self._count else last)

    def _take(self, lines: Iterable[bytes]) -> None:
        if not self._needle:
            for line in lines:
                self._seen += 1
                self._kept.append(line[:_MOST_LINE_BYTES])
            return
        for line in lines:
            self._looked += 1
            text = _text(line)
            if self._needle in text.casefold():
                self._seen += 1
                self._kept.append(text)
        if self._looked > MAX_LOOKED:
            raise _Exceeded(f"more than {MAX_LOOKED:,} lines had to be searched")

    def end(self) -> None:
        """The text ends: what is left of it is a line."""
        line, self._open = self._open, b""
        if line:
            self._take((line,))

    def show(self) -> tuple[tuple[str, ...], int]:
        """The last lines, and how many there were in all."""
        return tuple(each if isinstance(each, str) else _text(each) for each in self._kept), self._seen


def _text(line: bytes) -> str:
    return line[:_MOST_LINE_BYTES].decode("utf-8", "replace").rstrip("\r")[:_MOST_LINE]
