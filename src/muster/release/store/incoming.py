# SPDX-License-Identifier: Apache-2.0
"""A blob on its way into a store: checked while it comes, and gone on with after an interruption."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO, Final

from muster.errors import ExternalError, MusterError, cannot
from muster.release.oci.digest import PREFIX, Digest
from muster.release.store.flaws import WrongBlob, unreadable

CHUNK: Final = 1 << 20
"""As much as is read, hashed and written at once."""
_LARGE: Final = 8 << 20
"""A blob from this size on is hashed by one thread while another writes it."""
_FLUSH: Final = 8 << 20
"""After so much the disk begins to write."""
_BEGIN: Final = 2
_WAIT: Final = 1 | 2 | 4
"""What sync_file_range(2) may do: let the disk begin, or wait until it is done."""
_NO_FLUSH: Final = (errno.ENOSYS, errno.EINVAL, errno.ESPIPE, errno.EOPNOTSUPP)
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


class Incoming:
    """A blob on its way in. See `Blobs.receive`."""

    def __init__(self, part: Path, path: Path, digest: Digest, size_bytes: int) -> None:
        self._part, self._path = part, path
        self._digest, self._size_bytes = digest, size_bytes
        self._hash = hashlib.sha256()
        self._hasher = ThreadPoolExecutor(1) if size_bytes >= _LARGE else None
        self._file: BinaryIO | None = None
        self._written = self._begun = 0
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
        self._written = self._begun = 0

    def share(self, descriptor: int) -> bool:
        """Take all of another file by sharing its blocks; False where the file system cannot do that."""
        assert self._file is not None
        try:
            if not share_blocks(descriptor, self._file.fileno()):
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
        if self.offset - self._begun >= _FLUSH:
            self._pass_on()

    def _pass_on(self) -> None:
        """Let the disk begin with what came last, and give back the memory of what went before.

        So there is little left to wait for at the end, and what others need in memory stays there.
        """
        assert self._file is not None
        descriptor = self._file.fileno()
        try:
            _sync_range(descriptor, self._begun, self.offset, _BEGIN)
            if self._written < self._begun:
                _sync_range(descriptor, self._written, self._begun, _WAIT)
                os.posix_fadvise(
                    descriptor, self._written, self._begun - self._written, os.POSIX_FADV_DONTNEED
                )
        except OSError as error:
            raise self._lost(error) from error
        self._written, self._begun = self._begun, self.offset

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
            raise self._lost(error) from error
        self.is_here = True

    def close(self) -> None:
        if self._hasher is not None:
            self._hasher.shutdown()
        if self._file is not None:
            self._file.close()

    def _lost(self, error: OSError) -> MusterError:
        """What did not reach the disk may look as if it had: it is not gone on with."""
        self._part.unlink(missing_ok=True)
        return cannot_write(self._path, error)

    def _wrong(self, why: str) -> WrongBlob:
        self._part.unlink(missing_ok=True)
        return WrongBlob(
            f"the blob {self._digest} is not what it should be: {why}",
            hint="nothing of it was kept; run the command again, or get it from elsewhere",
        )


def share_blocks(source: int, target: int) -> bool:
    try:
        fcntl.ioctl(target, _FICLONE, source)
    except OSError as error:
        if error.errno in _CANNOT_SHARE:
            return False
        raise
    return True


def _sync_range(descriptor: int, start: int, end: int, how: int) -> None:
    """sync_file_range(2); where that is not offered, all of it is written at the end.

    An error that it tells of is not told again by fsync(2), so it must not be overheard.
    """
    import ctypes  # Slow, and small blobs never come here.

    call = getattr(ctypes.CDLL(None, use_errno=True), "sync_file_range", None)
    if call is None:
        return
    length = end - start
    if call(ctypes.c_int(descriptor), ctypes.c_int64(start), ctypes.c_int64(length), ctypes.c_uint(how)) != 0:
        number = ctypes.get_errno()
        if number not in _NO_FLUSH:
            raise OSError(number, os.strerror(number))


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
