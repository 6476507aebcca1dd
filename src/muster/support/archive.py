# SPDX-License-Identifier: Apache-2.0
"""Bundles as files: a folder is packed; one that came from elsewhere is taken apart, and not trusted."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final, cast

from muster.errors import cannot
from muster.files import part_of, sync_folder
from muster.support.room import Kept, Room, write_pieces

_PRIVATE: Final = 0o600
_MOST_FILES: Final = 5000
_MOST_BYTES: Final = 64 << 20
"""Of one file, when a bundle is taken apart."""
_MOST_UNPACKED: Final = 512 << 20
"""Of a whole archive."""
_DAMAGED: Final = (tarfile.TarError, EOFError, zlib.error)


def pack(folder: Path, archive: Path, top: str) -> Path:
    """Make an archive of a folder's files; it is there as a whole, or not at all."""
    part = part_of(archive)
    try:
        try:
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE)
            with os.fdopen(descriptor, "wb") as file:
                _write(folder, file, top)
                file.flush()
                os.fsync(file.fileno())
            part.replace(archive)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        sync_folder(archive.parent)
    except OSError as error:
        raise cannot("write", archive, error) from error
    return archive


def _write(folder: Path, file: IO[bytes], top: str) -> None:
    with tarfile.open(fileobj=file, mode="w:gz", compresslevel=6) as tar:
        for path in sorted(each for each in folder.rglob("*") if each.is_file()):
            tar.add(path, f"{top}/{path.relative_to(folder)}", recursive=False, filter=_anonymous)


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def unpack(file: IO[bytes], target: Path, clean: Callable[[str], str], room: Room) -> Kept:
    """Take the texts of an archive without the folder that all are in; what breaks off is kept so far."""
    missed: list[tuple[str, str]] = []
    try:
        source = cast("IO[bytes]", _Bounded(gzip.GzipFile(fileobj=file)))
        with tarfile.open(fileobj=source, mode="r|") as tar:
            for number, entry in enumerate(tar):
                name = _safe_name(entry)
                if number >= _MOST_FILES:
                    missed.append((target.name, f"only its first {_MOST_FILES} files are here"))
                    break
                why = _take(tar, entry, target / name, clean, room) if name else "it is not a plain file"
                missed += [(name or entry.name, why)] if why and not entry.isdir() else []
    except _DAMAGED as error:
        missed.append((target.name, f"it breaks off: {error}"))
    except OSError as error:  # What gzip does not understand is one, too.
        missed.append((target.name, str(error).lower()))
    return Kept(tuple(missed))


def as_file(pieces: Iterator[bytes]) -> IO[bytes]:
    """Pieces of an archive as a file that can only be read, in bounded memory."""
    return io.BufferedReader(_Pieces(pieces))


class _Bounded(io.RawIOBase):
    """A stream of bounded length: tarfile reads names of any length, and skips entries of any size."""

    def __init__(self, source: gzip.GzipFile) -> None:
        self._source, self._left = source, _MOST_UNPACKED

    def read(self, size: int = -1, /) -> bytes:
        data = self._source.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise tarfile.ReadError(f"it unpacks to more than {_MOST_UNPACKED >> 20} MiB")
        return data


class _Pieces(io.RawIOBase):
    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._left = pieces, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        if not self._left:
            self._left = memoryview(next(self._pieces, b""))
        count = min(len(buffer), len(self._left))
        buffer[:count] = self._left[:count]
        self._left = self._left[count:]
        return count


def _safe_name(entry: tarfile.TarInfo) -> str:
    """Where a file goes, below the folder; empty when it is not to go anywhere."""
    parts = PurePosixPath(entry.name).parts[1:]
    is_safe = entry.isreg() and not {"..", "/", ""} & set(parts) and "\0" not in entry.name
    return "/".join(parts) if is_safe and not entry.name.startswith("/") else ""


def _take(
    tar: tarfile.TarFile, entry: tarfile.TarInfo, path: Path, clean: Callable[[str], str], room: Room
) -> str:
    """Why a file is not there, or not as a whole."""
    if entry.size > _MOST_BYTES:
        return f"it has more than {_MOST_BYTES >> 20} MiB"
    source = tar.extractfile(entry)
    data = source.read() if source is not None else b""
    if b"\0" in data:
        return "it is not text"
    try:
        is_whole = write_pieces(path, (clean(data.decode(errors="replace")),), room)
    except OSError as error:
        return (error.strerror or str(error)).lower()
    return "" if is_whole else "there was no room for it"
