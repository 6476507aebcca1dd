# SPDX-License-Identifier: Apache-2.0
"""Files by their paths, in a folder or in a tar archive, without unpacking it.

    with open_tree(path, spool=folder) as tree:
        extent = tree.find("blobs/sha256/...")

Whoever made them may be hostile: nothing outside is reached, and only regular files are read.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, Protocol

from muster.errors import MediaError, UserError, cannot
from muster.release.store.exchange.tape import Kind, Member, read_members
from muster.release.store.flaws import BadBlob, Flaw, unreadable
from muster.release.store.incoming import CHUNK, cannot_write
from muster.release.unpack import HEAD_BYTES, find_unpacker

_MOST_LINKS: Final = 8
_BOMB_BYTES: Final = 1 << 30
_BOMB_RATIO: Final = 200
"""What unpacks to more than this, and more than a gigabyte, is not an archive of images."""


@dataclass(frozen=True, slots=True)
class Extent:
    """Some bytes of a file."""

    where: str
    """In words, for messages."""
    path: Path
    offset: int
    size_bytes: int
    descriptor: int = -1
    """The file, where it is open already."""

    @contextlib.contextmanager
    def open(self) -> Iterator[int]:
        """The file that they are in.

        It is opened anew even if it is open, because the kernel reads ahead for one reader of a file at a
        time. It is still the same file, whatever has its name now.
        """
        path = self.path if self.is_whole_file else Path(f"/proc/self/fd/{self.descriptor}")
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            raise unreadable(self.path, error) from error
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise MediaError(f"{self.path} is not a file", hint="remove it")
            yield descriptor
        finally:
            os.close(descriptor)

    @property
    def is_whole_file(self) -> bool:
        return self.descriptor < 0

    def chunks(self, descriptor: int, start: int = 0) -> Iterator[memoryview]:
        """The bytes from one on; each piece is gone when the next is asked for."""
        buffer = memoryview(bytearray(min(CHUNK, max(1, self.size_bytes))))
        offset, end = self.offset + start, self.offset + self.size_bytes
        while offset < end:
            try:
                count = os.preadv(descriptor, (buffer[: end - offset],), offset)
            except OSError as error:
                raise unreadable(self.path, error) from error
            if not count:
                raise BadBlob(
                    Flaw.SIZE, f"{self.where} ended after {offset - self.offset} of {self.size_bytes} bytes"
                )
            yield buffer[:count]
            offset += count

    def read(self, limit: int) -> bytes:
        """All of them, if they are few."""
        if self.size_bytes > limit:
            raise BadBlob(
                Flaw.SIZE,
                f"{self.where} has {self.size_bytes} bytes, more than {limit} are not read",
                hint="it is not what it should be",
            )
        with self.open() as descriptor:
            return b"".join(bytes(chunk) for chunk in self.chunks(descriptor))


class Tree(Protocol):
    """Files by path."""

    @property
    def origin(self) -> Path:
        """Where it is."""

    def find(self, name: str) -> Extent | None:
        """A regular file; None when there is none of that name."""

    def names(self, under: str, without: Collection[str] = ()) -> Iterator[str]:
        """The files below a folder, by their paths from the top, in order; some folders are left out."""


class Folder:
    """A folder on the disk."""

    def __init__(self, origin: Path) -> None:
        self.origin = origin
        self._real = Path(os.path.realpath(origin))

    def find(self, name: str) -> Extent | None:
        path = self.origin / name
        try:
            status = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise unreadable(path, error) from error
        if not Path(os.path.realpath(path)).is_relative_to(self._real):
            raise MediaError(
                f"{path} is a symbolic link that leads out of {self.origin}",
                hint="copy what it points at, or name another folder",
            )
        if not stat.S_ISREG(status.st_mode):
            return None
        return Extent(str(path), path, 0, status.st_size)

    def names(self, under: str, without: Collection[str] = ()) -> Iterator[str]:
        top = self.origin / under
        for folder, folders, files in os.walk(top, onerror=_stop):
            folders[:] = sorted(name for name in folders if name not in without)
            place = Path(folder).relative_to(self.origin)
            yield from ((place / name).as_posix() for name in sorted(files))


def _stop(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise unreadable(Path(error.filename), error)


class Archive:
    """A tar archive that is open."""

    def __init__(self, origin: Path, descriptor: int) -> None:
        self.origin = origin
        self._descriptor = descriptor
        size = os.fstat(descriptor).st_size
        self._members: dict[str, Member] = {
            member.name: member for member in read_members(self._pread, size, str(origin))
        }

    def _pread(self, offset: int, count: int) -> bytes:
        try:
            return os.pread(self._descriptor, count, offset)
        except OSError as error:
            raise unreadable(self.origin, error) from error

    def find(self, name: str) -> Extent | None:
        member = self._members.get(name)
        for _ in range(_MOST_LINKS):
            if member is None or member.kind is not Kind.LINK:
                break
            member = self._members.get(member.target)
        if member is None or member.kind is not Kind.FILE:
            return None
        where = f"{name} in {self.origin}"
        return Extent(where, self.origin, member.offset, member.size_bytes, self._descriptor)

    def names(self, under: str, without: Collection[str] = ()) -> Iterator[str]:
        prefix = f"{under}/" if under else ""
        banned = frozenset(without)
        for name, member in sorted(self._members.items()):
            if member.kind is not Kind.FOLDER and name.startswith(prefix) and not banned & {*name.split("/")}:
                yield name


@contextlib.contextmanager
def open_tree(path: Path, spool: Path) -> Iterator[Tree]:
    """A folder or an archive. One that is compressed, or a pipe, is unpacked into a nameless file first."""
    try:
        if path.is_dir():
            yield Folder(path)
            return
        file = path.open("rb", buffering=0)
    except FileNotFoundError as error:
        raise UserError(f"there is no {path}", hint="name an archive, or a folder, of images") from error
    except OSError as error:
        raise cannot("read", path, error) from error
    with file:
        is_plain = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
        head = _head(file, path)
        if is_plain and find_unpacker(head, str(path)) is None:
            yield Archive(path, file.fileno())
            return
        with _unpack(file, head, path, spool) as unpacked:
            yield Archive(path, unpacked.fileno())


def _head(file: BinaryIO, path: Path) -> bytes:
    """The first bytes, which tell what a file is."""
    head = b""
    try:
        while len(head) < HEAD_BYTES and (more := file.read(HEAD_BYTES - len(head))):
            head += more
    except OSError as error:
        raise unreadable(path, error) from error
    return head


def _unpack(file: BinaryIO, head: bytes, path: Path, spool: Path) -> BinaryIO:
    """Put what comes out of a file into one that goes away with us, however we end."""
    unpacker = find_unpacker(head, str(path))
    try:
        unpacked = tempfile.TemporaryFile(dir=spool, buffering=0)  # noqa: SIM115 - the caller closes it
    except OSError as error:
        raise cannot_write(spool, error) from error
    taken = given = 0
    chunk = head
    try:
        while chunk:
            taken += len(chunk)
            for piece in unpacker.unpack(chunk) if unpacker else (chunk,):
                given += len(piece)
                _refuse_bomb(path, taken, given)
                _write(unpacked, piece, spool)
            chunk = _next(file, path)
        if unpacker:
            unpacker.finish()
    except BaseException:
        unpacked.close()
        raise
    return unpacked


def _refuse_bomb(path: Path, taken: int, given: int) -> None:
    if given > _BOMB_BYTES and given > taken * _BOMB_RATIO:
        raise MediaError(
            f"{path} unpacks to more than {_BOMB_RATIO} times its size", hint="it is no archive of images"
        )


def _next(file: BinaryIO, path: Path) -> bytes:
    try:
        return file.read(CHUNK)
    except OSError as error:
        raise unreadable(path, error) from error


def _write(file: BinaryIO, piece: bytes, spool: Path) -> None:
    left = memoryview(piece)
    try:
        while left:
            left = left[file.write(left) :]
    except OSError as error:
        raise cannot_write(spool, error) from error
