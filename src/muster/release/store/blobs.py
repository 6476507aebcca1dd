# SPDX-License-Identifier: Apache-2.0
"""Blobs: files that are named by their digest, are written once, and appear only when they are whole."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO, Final

from muster.errors import ExternalError, MusterError, cannot
from muster.files import sync_folder
from muster.lock import find_free_lock, take_lock
from muster.release.oci.digest import PREFIX, Digest, digest_of, hex_of, is_digest
from muster.release.store.flaws import BadBlob, Flaw, WrongBlob, damaged, missing, unreadable

CHUNK: Final = 1 << 20
"""As much as is read, hashed and written at once."""
_LARGE: Final = 8 << 20
"""A blob from this size on is hashed by one thread while another writes it."""
_FICLONE: Final = 0x40049409
_CANNOT_SHARE: Final = (
    errno.EXDEV,
    errno.EINVAL,
    errno.ENOSYS,
    errno.EOPNOTSUPP,
    errno.EPERM,
    errno.EBADF,
    errno.ENOTTY,
    errno.ETXTBSY,
)


class Blobs:
    """The blobs of a store, or of any OCI image layout."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._folder = root / "blobs" / "sha256"
        self._partial = root / "partial"

    def path(self, digest: Digest) -> Path:
        return self._folder / hex_of(digest)

    def size(self, digest: Digest) -> int | None:
        """How many bytes a blob has; None when it is not here."""
        try:
            return self.path(digest).stat().st_size
        except FileNotFoundError:
            return None
        except OSError as error:
            raise unreadable(self.path(digest), error) from error

    def everything(self) -> tuple[tuple[Digest, int], ...]:
        """Every blob that is here, with its size, whether anybody needs it or not."""
        found: list[tuple[Digest, int]] = []
        try:
            with os.scandir(self._folder) as entries:
                for entry in entries:
                    digest = Digest(PREFIX + entry.name)
                    if is_digest(digest) and entry.is_file():
                        found.append((digest, entry.stat().st_size))
        except FileNotFoundError:
            pass
        except OSError as error:
            raise unreadable(self._folder, error) from error
        return tuple(sorted(found))

    def read(self, digest: Digest, limit: int) -> bytes:
        """A small blob as a whole, checked."""
        with self.open(digest) as file:
            data = _read(file, self.path(digest), limit + 1)
        if len(data) > limit:
            raise BadBlob(
                Flaw.SIZE,
                f"{self.path(digest)} has more than {limit} bytes",
                hint="it is not what it should be",
            )
        if digest_of(data) != digest:
            raise damaged(self.path(digest))
        return data

    def open(self, digest: Digest) -> BinaryIO:
        """A blob to read from; its content is not checked."""
        try:
            # Without waiting: what has the name of a blob may be a pipe that nobody writes to.
            descriptor = os.open(self.path(digest), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError as error:
            raise missing(digest, self.root) from error
        except OSError as error:
            raise unreadable(self.path(digest), error) from error
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise BadBlob(Flaw.CONTENT, f"{self.path(digest)} is not a file", hint="remove it")
        return os.fdopen(descriptor, "rb", buffering=0)

    def put(self, data: bytes) -> Digest:
        """Keep a small blob."""
        digest = digest_of(data)
        with self.receive(digest, len(data)) as incoming:
            if not incoming.is_here:
                incoming.start_over()
                incoming.write(data)
                incoming.finish()
        return digest

    @contextlib.contextmanager
    def receive(
        self, digest: Digest, size_bytes: int, *, on_wait: Callable[[str], None] = lambda _holder: None
    ) -> Iterator[Incoming]:
        """Take a blob in, piece by piece. What came before an interruption stays, and is gone on with.

        Two who bring the same blob take turns; the second finds it here (`is_here`). Both in one thread would
        wait for each other for ever.
        """
        part = self._partial / hex_of(digest)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            lock = take_lock(part.with_suffix(".lock"), on_wait=on_wait)
        except OSError as error:
            raise cannot_write(self.root, error) from error
        try:
            incoming = Incoming(part, self.path(digest), digest, size_bytes)
            try:
                yield incoming
            finally:
                incoming.close()
        finally:
            lock.release(remove=not part.exists())

    def can_share(self, descriptor: int) -> bool:
        """Whether blobs can share the blocks of a file, so that copies of it take no room."""
        try:
            self._partial.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self._partial) as probe:
                return _share(descriptor, probe.fileno())
        except OSError as error:
            raise cannot_write(self.root, error) from error

    def remove(self, digest: Digest) -> None:
        """Remove a blob that nobody needs, or that is damaged; whoever does it is alone in the store."""
        try:
            self.path(digest).unlink(missing_ok=True)
        except OSError as error:
            raise cannot_write(self.path(digest), error) from error

    def sync(self) -> None:
        """Let the names of all blobs reach the disk; their bytes did when they got them."""
        try:
            if self._folder.exists():
                sync_folder(self._folder)
        except OSError as error:
            raise cannot_write(self._folder, error) from error

    def partial(self) -> tuple[tuple[Path, int], ...]:
        """What interrupted transfers left, with its size."""
        found = []
        for path in sorted(self._partial.glob("*")):
            with contextlib.suppress(OSError):
                found.append((path, path.lstat().st_size))
        return tuple(found)

    def remove_partial(self) -> int:
        """Remove what interrupted transfers left and nobody goes on with; how many bytes that were."""
        freed = 0
        for path, size in self.partial():
            lock_path = path if path.suffix == ".lock" else path.with_suffix(".lock")
            try:
                lock = find_free_lock(lock_path)
                if lock is None:
                    continue
                path.unlink(missing_ok=True)
                lock.release(remove=True)
            except OSError as error:
                raise cannot_write(path, error) from error
            freed += size
        with contextlib.suppress(OSError):
            self._partial.rmdir()
        return freed


class Incoming:
    """A blob on its way in. See `Blobs.receive`."""

    def __init__(self, part: Path, path: Path, digest: Digest, size_bytes: int) -> None:
        self._part, self._path = part, path
        self._digest, self._size_bytes = digest, size_bytes
        self._hash = hashlib.sha256()
        self._hasher = ThreadPoolExecutor(1) if size_bytes >= _LARGE else None
        self._file: BinaryIO | None = None
        self.offset = 0
        """How much is here; what comes next starts there."""
        self.is_here = _has_size(path, size_bytes)
        if not self.is_here:
            try:
                # Not to append: what is only appended to cannot share blocks.
                descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
                self._file = os.fdopen(descriptor, "r+b", buffering=0)
                self._go_on()
            except OSError as error:
                self.close()
                raise cannot_write(part, error) from error

    def _go_on(self) -> None:
        """Take up what an earlier transfer left."""
        assert self._file is not None
        self._file.seek(0)
        while chunk := self._file.read(CHUNK):
            self._hash.update(chunk)
            self.offset += len(chunk)
        if self.offset > self._size_bytes:
            self.start_over()

    def start_over(self) -> None:
        """Forget what is here: what serves the rest cannot go on, or serves something else."""
        assert self._file is not None
        self._file.truncate(0)
        self._file.seek(0)
        self._hash, self.offset = hashlib.sha256(), 0

    def share(self, descriptor: int) -> bool:
        """Take all of another file by sharing its blocks; False where the file system cannot do that."""
        assert self._file is not None
        try:
            if not _share(descriptor, self._file.fileno()):
                return False
            self._hash, self.offset = hashlib.sha256(), 0
            self._go_on()
        except OSError as error:
            raise cannot_write(self._path, error) from error
        return True

    def write(self, chunk: bytes | memoryview) -> None:
        """Take the next bytes. They may be changed as soon as this returns."""
        assert self._file is not None
        if self.offset + len(chunk) > self._size_bytes:
            raise self._wrong(f"it has more than the {self._size_bytes} bytes that its manifest says")
        hashed = self._hasher.submit(self._hash.update, chunk) if self._hasher else None
        left = memoryview(chunk)
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            raise cannot_write(self._path, error) from error
        finally:
            hashed.result() if hashed else self._hash.update(chunk)
        self.offset += len(chunk)

    def finish(self) -> None:
        """Give it its name, if it is what it should be."""
        if self.is_here:
            return
        assert self._file is not None
        if self.offset != self._size_bytes:
            raise ExternalError(
                f"the blob {self._digest} ended after {self.offset} of {self._size_bytes} bytes",
                hint="run the command again: what came is kept",
            )
        if f"{PREFIX}{self._hash.hexdigest()}" != self._digest:
            raise self._wrong(f"its content has the digest {PREFIX}{self._hash.hexdigest()}")
        try:
            os.fsync(self._file.fileno())
            self._part.rename(self._path)
        except OSError as error:
            # What did not reach the disk may look as if it had: it is not gone on with.
            self._part.unlink(missing_ok=True)
            raise cannot_write(self._path, error) from error
        self.is_here = True

    def close(self) -> None:
        if self._hasher is not None:
            self._hasher.shutdown()
        if self._file is not None:
            self._file.close()

    def _wrong(self, why: str) -> WrongBlob:
        self._part.unlink(missing_ok=True)
        return WrongBlob(
            f"the blob {self._digest} is not what it should be: {why}",
            hint="nothing of it was kept; run the command again, or get it from elsewhere",
        )


def _share(source: int, target: int) -> bool:
    try:
        fcntl.ioctl(target, _FICLONE, source)
    except OSError as error:
        if error.errno in _CANNOT_SHARE:
            return False
        raise
    return True


def cannot_write(path: Path, error: OSError) -> MusterError:
    """What the operating system said while something in a store was written."""
    if error.errno == errno.EROFS:
        return ExternalError(
            f"cannot write {path}: it is on a read-only medium",
            hint="`muster store export` copies a store, or some of its images, to another place",
        )
    return cannot("write", path, error)


def _has_size(path: Path, size_bytes: int) -> bool:
    """Whether a blob is here. One of another size is damaged, or somebody lied: the digest will tell."""
    try:
        return path.stat().st_size == size_bytes
    except FileNotFoundError:
        return False
    except OSError as error:
        raise unreadable(path, error) from error


def _read(file: BinaryIO, path: Path, limit: int) -> bytes:
    """Up to so many bytes of a file."""
    pieces: list[bytes] = []
    left = limit
    try:
        while left and (piece := file.read(left)):
            pieces.append(piece)
            left -= len(piece)
    except OSError as error:
        raise unreadable(path, error) from error
    return b"".join(pieces)
