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
_TEXT: Final = ("journal", ".log", ".txt")


class HostLog(Wire, frozen=True, kw_only=True):
    """Lines of a host's log."""

    lines: tuple[str, ...]
    complete: Annotated[bool, about("Whether that is all there is, or more lines come before these.")]
    file: Annotated[
        str, about("The file of the archive that they are from; nothing: no log was sent yet.")
    ] = ""


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
