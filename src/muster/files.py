# SPDX-License-Identifier: Apache-2.0
"""Writing files so that nothing is ever half-written or lost: temporary name, fsync, rename."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from muster.errors import ExternalError, cannot


def save_file(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Replace a file as a whole; readers see the old content or the new, nothing between.

    A symbolic link stays one: what it points at is replaced.
    """
    path = path.resolve() if path.is_symlink() else path
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            with os.fdopen(descriptor, "wb") as file:
                _keep_owner(file.fileno(), path, mode)
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
        _sync_folder(path.parent)
    except OSError as error:
        raise cannot("write", path, error) from error


def _keep_owner(descriptor: int, path: Path, mode: int) -> None:
    """Whatever the umask, and whoever runs us: a file that is replaced stays that of its owner."""
    os.fchmod(descriptor, mode)
    with contextlib.suppress(OSError):
        old = path.stat()
        os.fchown(descriptor, old.st_uid, old.st_gid)


def save_new_file(path: Path, data: bytes, *, mode: int = 0o644) -> bool:
    """Write a file that must not exist yet; False, and nothing touched, when it does."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.new")
    try:
        save_file(temporary, data, mode=mode)
    except ExternalError as error:
        raise ExternalError(error.message.replace(temporary.name, path.name), hint=error.hint) from error
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS):
            raise cannot("write", path, error) from error
        # A file system without hard links, such as that of a USB stick.
        if os.path.lexists(path):
            return False
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(path.parent)
    return True


@dataclass(frozen=True)
class NewFolder:
    """A folder that nobody sees yet."""

    path: Path

    def add(self, name: str, data: bytes, *, mode: int = 0o644) -> None:
        """Write a file that is not there yet."""
        path = self.path / name
        if "/" in name:
            path.parent.mkdir(exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            os.fchmod(descriptor, mode)
            left = memoryview(data)
            while left:
                left = left[os.write(descriptor, left) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def new_folder(path: Path) -> Iterator[NewFolder]:
    """A folder that appears as a whole, when all that is done inside of the block has succeeded."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        temporary.mkdir(parents=True)
        try:
            yield NewFolder(temporary)
            for folder, _, _ in os.walk(temporary):
                _sync_folder(Path(folder))
            temporary.rename(path)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        _sync_folder(path.parent)
    except OSError as error:
        raise cannot("write", path, error) from error


def remove_file(path: Path) -> None:
    """Remove a file whose content was saved elsewhere, or can be made again."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise cannot("remove", path, error) from error


def back_up(path: Path) -> Path:
    """Keep a copy of a file beside it, under a name that was free, with its mode."""
    number = 0
    while True:
        name = path.with_name(f"{path.name}.bak" if number == 0 else f"{path.name}.bak.{number}")
        try:
            data, mode = path.read_bytes(), path.stat().st_mode & 0o777
        except OSError as error:
            raise cannot("read", path, error) from error
        if save_new_file(name, data, mode=mode):
            return name
        number += 1


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
