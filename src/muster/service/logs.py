# SPDX-License-Identifier: Apache-2.0
"""The log of a host, as it sent it: the end of it, or the lines that are looked for."""

from __future__ import annotations

import io
import tarfile
from collections import deque
from collections.abc import Iterator
from typing import Annotated, Final

from muster.model.wire.struct import Wire, about

_MOST_BYTES: Final = 256 << 20
"""No more of an archive is unpacked."""
_MOST_LINE: Final = 4000
_KEPT: Final = 2000
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
        self._lines: deque[str] = deque(maxlen=_KEPT)
        self._count = 0

    def add(self, lines: tuple[str, ...]) -> None:
        """The host wrote these."""
        self._lines.extend(line[:_MOST_LINE] for line in lines)
        self._count += len(lines)

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


def read_log(archive: bytes, count: int, needle: str = "") -> HostLog:
    """The last lines of the journal in an archive; those that contain a text, if there is one."""
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:*") as tar:
            return _read(tar, count, needle.casefold())
    except (tarfile.TarError, EOFError, OSError, ValueError):
        return HostLog(lines=("the archive that the host sent cannot be read",), complete=True)


def _read(tar: tarfile.TarFile, count: int, needle: str) -> HostLog:
    best: tarfile.TarInfo | None = None
    for entry in tar:
        if entry.isfile() and _is_better(entry, best):
            best = entry
    if best is None or (file := tar.extractfile(best)) is None:
        return HostLog(lines=(), complete=True)
    kept: deque[str] = deque(maxlen=count)
    seen = 0
    for line in _lines(file.read(_MOST_BYTES)):
        if needle in line.casefold():
            seen += 1
            kept.append(line)
    return HostLog(lines=tuple(kept), complete=seen <= count, file=best.name)


def _is_better(entry: tarfile.TarInfo, best: tarfile.TarInfo | None) -> bool:
    """The journal is what people look for; without one, the longest text."""
    name = entry.name.rpartition("/")[2]
    if not any(part in name for part in _TEXT):
        return False
    if best is None:
        return True
    ours, theirs = "journal" in name, "journal" in best.name.rpartition("/")[2]
    return ours > theirs or (ours == theirs and entry.size > best.size)


def _lines(data: bytes) -> Iterator[str]:
    for line in data.decode("utf-8", "replace").splitlines():
        yield line[:_MOST_LINE]
