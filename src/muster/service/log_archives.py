# SPDX-License-Identifier: Apache-2.0
"""Archives of logs that hosts upload: written and read in pieces, within quotas.

A service with a SQLite file keeps them as files in its directory, so that the database stays small. Services
that share a database keep them there, in parts. Uploads of older versions are single documents, and are
still read.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final, Protocol, TypeAlias
from urllib.parse import quote, unquote

from muster.errors import cannot
from muster.files import sync_folder
from muster.frozen import dataclass
from muster.release.off_loop import off_loop
from muster.service.refusals import NoSpace, StateConflict, TooLarge, Unavailable
from muster.service.store.large import Key, find_large, put_large, read_large
from muster.service.store.port import Store
from muster.serving.quiet_log import QuietLog

FOLDER: Final = "host-logs"
CONTROLLER: Final = "controller"
_PIECE: Final = 1 << 20
_FULL: Final = "the disk of the service is full"
_BEFORE, _AFTER, _PART = "logs-", ".tar.gz", ".part"
_log: Final = logging.getLogger("muster.service")
Put: TypeAlias = Callable[[str, dict[Key, bytes | None]], Awaitable[None]]
"""Writes documents of a realm."""


@dataclass(frozen=True)
class Quota:
    """How much archives may take."""

    host_bytes: int = 256 << 20
    controller_bytes: int = 1 << 30
    """The cluster's controller sends what it gathered of all of the cluster."""
    total_bytes: int = 8 << 30
    spare_bytes: int = 512 << 20
    """Free space of the file system that is left to others, if it is large enough for that."""
    spare_share: float = 0.1
    """Of a small file system so much is left."""
    uploads: int = 16
    """At a time."""
    seconds: float = 1800.0
    """For one upload."""

    def of(self, owner: str) -> int:
        """How large an archive may be."""
        return self.controller_bytes if owner == CONTROLLER else self.host_bytes


@dataclass(frozen=True)
class Archive:
    """An archive that can be read any number of times."""

    size_bytes: int
    pieces: Callable[[], Iterator[bytes]]


class LogArchives(Protocol):
    """Where archives are kept: one of each host of a cluster, and one of its controller."""

    async def put(self, realm: str, owner: str, chunks: AsyncIterator[bytes]) -> int:
        """Keep an archive in place of the one before; how large it is."""

    def owners(self, realm: str) -> set[str]:
        """Whose archives there are."""

    def find(self, realm: str, owner: str) -> Archive | None:
        """An archive."""

    async def remove(self, realm: str) -> None:
        """A cluster is gone."""


async def stream(archive: Archive) -> AsyncIterator[bytes]:
    """The pieces of an archive, read in threads."""
    pieces = archive.pieces()
    while piece := await off_loop(next, pieces, b""):
        yield piece


def find_stored(store: Store, realm: str, owner: str) -> Archive | None:
    """An archive in a database, in parts or as the single document of an older version."""
    key = _key(realm, owner)
    if (parts := find_large(store, realm, key)) is not None:
        return Archive(parts.size_bytes, lambda: read_large(store, realm, key, parts))
    size = store.documents(realm, realm).get(key)
    if size is None:
        return None
    return Archive(size, lambda: _slices(store.document(realm, *key) or b""))


def stored_owners(store: Store, realm: str) -> set[str]:
    """Whose archives are in a database."""
    names = (name for _, name in store.documents(realm, realm))
    return {name.removeprefix("logs/") for name in names if name.startswith("logs/")}


def find_file(folder: Path, realm: str, owner: str) -> Archive | None:
    """An archive as a file; what is being read stays as it is when it is replaced."""
    path = _path(folder, realm, owner)
    try:
        size = path.stat().st_size
    except OSError:
        return None
    return Archive(size, lambda: _read(path))


def file_owners(folder: Path, realm: str) -> set[str]:
    """Whose archives are files."""
    try:
        names = [path.name for path in _path(folder, realm, "").parent.iterdir()]
    except OSError:
        return set()
    found = (name for name in names if name.startswith(_BEFORE) and name.endswith(_AFTER))
    return {unquote(name.removeprefix(_BEFORE).removesuffix(_AFTER)) for name in found}


def _key(realm: str, owner: str) -> Key:
    return realm, f"logs/{owner}"


def _path(folder: Path, realm: str, owner: str) -> Path:
    return folder / f"realm-{quote(realm, safe='')}" / f"{_BEFORE}{quote(owner, safe='')}{_AFTER}"


def _slices(body: bytes) -> Iterator[bytes]:
    return (body[start : start + _PIECE] for start in range(0, len(body), _PIECE))


def _read(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                yield piece
    except OSError as error:
        raise cannot("read", path, error) from error


class _Uploads:
    """Uploads under way: few at a time, one of each owner, none larger and none longer than allowed."""

    def __init__(self, quota: Quota) -> None:
        self._quota = quota
        self._open: dict[Key, int] = {}

    @property
    def size_bytes(self) -> int:
        """How much came of all of them."""
        return sum(self._open.values())

    @contextlib.asynccontextmanager
    async def admit(self, realm: str, owner: str) -> AsyncIterator[Callable[[int], None]]:
        """An upload that may go on; tell how much more of it came."""
        key = realm, owner
        if key in self._open:
            raise StateConflict(
                f"another upload of the logs of {owner} is under way", hint="wait for its end"
            )
        if len(self._open) >= self._quota.uploads:
            raise Unavailable(f"{len(self._open)} uploads of logs are under way", hint="retry later")

        def note(size: int) -> None:
            self._open[key] += size
            if self._open[key] > (most := self._quota.of(owner)):
                raise TooLarge(
                    f"the logs of {owner} are larger than {most >> 20} MiB", hint="send fewer or shorter logs"
                )

        self._open[key] = 0
        try:
            async with asyncio.timeout(self._quota.seconds):
                yield note
        except TimeoutError:
            raise Unavailable(
                f"the upload of the logs of {owner} took more than {self._quota.seconds:g} s", hint="retry"
            ) from None
        finally:
            del self._open[key]


def _disk(folder: Path) -> tuple[int, int]:
    """Size and free space of a file system."""
    found = shutil.disk_usage(folder)
    return found.total, found.free


class FileArchives:
    """Archives as files in the directory of the only service that uses them."""

    def __init__(
        self,
        folder: Path,
        store: Store,
        quota: Quota | None = None,
        disk: Callable[[Path], tuple[int, int]] = _disk,
    ) -> None:
        self._folder, self._store, self._disk = folder, store, disk
        self._quota = quota or Quota()
        self._uploads = _Uploads(self._quota)
        self._quiet = QuietLog(_log, time.monotonic)

    def begin(self, realms: Iterable[str]) -> None:
        """At the start of a service: remove what an upload left that was cut off, and what is of no realm."""
        known = {_path(self._folder, realm, "").parent for realm in realms}
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for folder in self._folder.glob("realm-*"):
                if folder not in known:
                    shutil.rmtree(folder, ignore_errors=True)
            for left in self._folder.glob(f"*/*{_PART}"):
                left.unlink(missing_ok=True)
        except OSError as error:
            raise cannot("use", self._folder, error) from error

    async def put(self, realm: str, owner: str, chunks: AsyncIterator[bytes]) -> int:
        path = _path(self._folder, realm, owner)
        part = path.with_name(f"{path.name}{_PART}")
        size = 0
        async with self._uploads.admit(realm, owner) as note:
            file = await off_loop(_create, part)
            try:
                async for piece in _gather(chunks):
                    note(len(piece))
                    size += len(piece)
                    await off_loop(self._append, file, piece, path)
                await off_loop(_finish, file, part, path)
            except NoSpace as error:
                self._quiet.note("", "%s: %s", self._folder, error.message)
                raise
            finally:
                await off_loop(_discard, file, part)
        return size

    def _append(self, file: BinaryIO, piece: bytes, path: Path) -> None:
        self._make_room(path)
        size, free = self._disk(self._folder)
        spare = min(self._quota.spare_bytes, int(size * self._quota.spare_share))
        if free - len(piece) < spare:
            raise _no_space(f"the service has {free >> 20} MiB free, of which {spare >> 20} MiB are kept")
        try:
            file.write(piece)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise _no_space(_FULL) from error
            raise cannot("write", path, error) from error

    def _make_room(self, path: Path) -> None:
        """Remove the oldest archives as long as all together take more than they may."""
        kept = []
        for each in self._folder.glob(f"*/{_BEFORE}*{_AFTER}"):
            with contextlib.suppress(OSError):
                found = each.stat()
                kept.append((found.st_mtime_ns, found.st_size, each))
        total = self._uploads.size_bytes + sum(size for _, size, each in kept if each != path)
        for _, size, each in sorted(kept):
            if total <= self._quota.total_bytes:
                return
            if each != path:
                _log.warning("%s is removed: all logs of hosts take more than their quota", each)
                each.unlink(missing_ok=True)
                total -= size
        if total > self._quota.total_bytes:
            raise _no_space(f"uploads under way take the {self._quota.total_bytes >> 20} MiB for logs")

    def owners(self, realm: str) -> set[str]:
        return file_owners(self._folder, realm) | stored_owners(self._store, realm)

    def find(self, realm: str, owner: str) -> Archive | None:
        return find_file(self._folder, realm, owner) or find_stored(self._store, realm, owner)

    async def remove(self, realm: str) -> None:
        folder = _path(self._folder, realm, "").parent
        await off_loop(shutil.rmtree, folder, ignore_errors=True)


def open_archives(folder: Path, store: Store, realms: Iterable[str]) -> FileArchives | None:
    """The archives of a service; none when it shares its database, and so its archives, with others."""
    if store.is_shared:
        return None
    found = FileArchives(folder, store)
    found.begin(realms)
    return found


def _no_space(why: str) -> NoSpace:
    """It is told to callers, so it does not say where that is."""
    return NoSpace(f"the logs cannot be kept: {why}", hint="free disk space on the host of the service")


def _create(part: Path) -> BinaryIO:
    try:
        part.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part.unlink(missing_ok=True)
        return os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb")
    except OSError as error:
        raise cannot("write", part, error) from error


def _finish(file: BinaryIO, part: Path, path: Path) -> None:
    try:
        file.flush()
        os.fsync(file.fileno())
        part.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _no_space(_FULL) from error
        raise cannot("write", path, error) from error


def _discard(file: BinaryIO, part: Path) -> None:
    with contextlib.suppress(OSError):
        file.close()
    with contextlib.suppress(OSError):
        part.unlink(missing_ok=True)


class StoredArchives:
    """Archives in a database that services share, in parts."""

    def __init__(self, store: Store, put: Put, new_id: Callable[[], str], quota: Quota | None = None) -> None:
        self._store, self._put, self._new_id = store, put, new_id
        self._quota = quota or Quota()
        self._uploads = _Uploads(self._quota)

    async def put(self, realm: str, owner: str, chunks: AsyncIterator[bytes]) -> int:
        key, upload = _key(realm, owner), self._new_id()
        async with self._uploads.admit(realm, owner) as note:
            before = await off_loop(self._parts, realm)
            others = sum(size for at, size in before.items() if at[0] != f"{realm}#{key[1]}")

            async def counted() -> AsyncIterator[bytes]:
                async for piece in _gather(chunks):
                    note(len(piece))
                    if others + self._uploads.size_bytes > self._quota.total_bytes:
                        most = self._quota.total_bytes >> 20
                        raise NoSpace(
                            f"the logs of this cluster take more than {most} MiB", hint="delete old clusters"
                        )
                    yield piece

            try:
                made = await put_large(
                    lambda documents: self._put(realm, documents), key, counted(), upload=upload
                )
            except BaseException:
                await self._drop(realm, key, lambda name: name.startswith(upload))
                raise
            await self._drop(realm, key, lambda name: not name.startswith(upload))
        return made.size_bytes

    def _parts(self, realm: str) -> dict[Key, int]:
        return {key: size for key, size in self._store.documents(realm).items() if "#logs/" in key[0]}

    async def _drop(self, realm: str, key: Key, is_gone: Callable[[str], bool]) -> None:
        """Remove parts of an upload that failed, or those before one that did not."""
        subject = f"{key[0]}#{key[1]}"
        found = await off_loop(self._store.documents, realm, subject)
        if gone := [each for each in found if is_gone(each[1])]:
            await self._put(realm, dict.fromkeys(gone))

    def owners(self, realm: str) -> set[str]:
        return stored_owners(self._store, realm)

    def find(self, realm: str, owner: str) -> Archive | None:
        return find_stored(self._store, realm, owner)

    async def remove(self, realm: str) -> None:
        """Its documents go with the cluster."""


async def _gather(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The same bytes in pieces that are worth a write."""
    waiting, size = list[bytes](), 0
    async for chunk in chunks:
        waiting.append(chunk)
        size += len(chunk)
        if size >= _PIECE:
            yield b"".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)
