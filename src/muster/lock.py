# SPDX-License-Identifier: Apache-2.0
"""Locks between processes, one file each; the kernel takes one back when its holder ends, or crashes."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final

_BUSY: Final = (errno.EACCES, errno.EAGAIN)
_UNSUPPORTED: Final = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


class Lock:
    """A lock that is held until it is released."""

    def __init__(self, path: Path, descriptor: int, *, waited: bool) -> None:
        self._path = path
        self._descriptor = descriptor
        self.waited = waited
        """Whether somebody else held it before."""

    def release(self, *, remove: bool = False) -> None:
        """Give it back; the file may go away only while the lock on it is held alone."""
        if self._descriptor < 0:
            return
        if remove:
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)
        os.close(self._descriptor)
        self._descriptor = -1

    def __enter__(self) -> Lock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def take_lock(path: Path, *, shared: bool = False, on_wait: Callable[[str], None]) -> Lock:
    """Take a lock, alone or with others. Who has to wait is told the process id of the holder first."""
    waited = False
    while True:
        descriptor = _open(path)
        try:
            if not _flock(descriptor, shared=shared, wait=False):
                if not waited:
                    on_wait(_holder(descriptor))
                waited = True
                _flock(descriptor, shared=shared, wait=True)
            if _is_current(descriptor, path):
                if not shared:
                    _sign(descriptor)
                return Lock(path, descriptor, waited=waited)
        except BaseException:
            os.close(descriptor)
            raise
        # The holder removed the file meanwhile: what was locked is not what others will lock.
        os.close(descriptor)


def find_free_lock(path: Path) -> Lock | None:
    """Take a lock alone if nobody has it; None when somebody does."""
    while True:
        descriptor = _open(path)
        try:
            free = _flock(descriptor, shared=False, wait=False)
            if free and _is_current(descriptor, path):
                return Lock(path, descriptor, waited=False)
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        if not free:
            return None


def _open(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except PermissionError:
        # A file of another user of the same cache; reading is enough to lock it.
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)


def _flock(descriptor: int, *, shared: bool, wait: bool) -> bool:
    operation = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(descriptor, operation if wait else operation | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _BUSY and not wait:
            return False
        if error.errno not in _UNSUPPORTED:
            raise
        # A file system without locks. Names are temporary until a rename, so only work is done twice.
    return True


def _is_current(descriptor: int, path: Path) -> bool:
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(descriptor), there)


def _sign(descriptor: int) -> None:
    with contextlib.suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)


def _holder(descriptor: int) -> str:
    with contextlib.suppress(OSError):
        text = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
        if text.isdigit():
            return text
    return ""
