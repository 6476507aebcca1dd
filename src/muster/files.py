# SPDX-License-Identifier: Apache-2.0
"""Writing files so that nothing is ever half-written or lost: temporary name, fsync, rename."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from muster.errors import ExternalError, UserError, cannot

_NO_LINKS: Final = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EXDEV)
"""What a file system without hard links says, such as that of a USB stick."""


def save_file(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Replace a file as a whole; readers see the old content or the new, nothing between.

    A symbolic link stays one: what it points at is replaced.
    """
    is_link = path.is_symlink()
    path = follow_link(path)
    temporary = part_of(path)
    try:
        if not is_link:
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
        sync_folder(path.parent)
    except OSError as error:
        raise cannot("write", path, error) from error


def follow_link(path: Path) -> Path:
    """What a symbolic link points at, whether it is there or not; any other path as it is."""
    try:
        return path.resolve() if path.is_symlink() else path
    except (OSError, RuntimeError) as error:
        raise UserError(f"{path} is a symbolic link that leads nowhere", hint="remove it") from error


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
        if error.errno not in _NO_LINKS:
            raise cannot("write", path, error) from error
        # A file system without hard links, such as that of a USB stick.
        if os.path.lexists(path):
            return False
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(path.parent)
    return True


def remove_file(path: Path) -> None:
    """Remove a file whose content was saved elsewhere, or can be made again."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise cannot("remove", path, error) from error


def back_up(path: Path) -> Path:
    """Keep a file that is about to be replaced under a second name, one that was free."""
    number = 0
    while True:
        name = path.with_name(f"{path.name}.bak" if number == 0 else f"{path.name}.bak.{number}")
        if _keep_as(path, name):
            return name
        number += 1


def _keep_as(path: Path, name: Path) -> bool:
    """Give a file a second name, or a copy where there are no hard links; False when the name is taken."""
    try:
        os.link(path.resolve(), name)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise cannot("back up", path, error) from error
        return _copy_as(path, name)
    return True


def _copy_as(path: Path, name: Path) -> bool:
    try:
        data, mode = path.read_bytes(), path.stat().st_mode & 0o777
    except OSError as error:
        raise cannot("back up", path, error) from error
    return save_new_file(name, data, mode=mode)


@contextlib.contextmanager
def lock_folder(path: Path) -> Iterator[None]:
    """Be the only Muster that makes something in a folder. The lock ends with the process."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise cannot("open", path, error) from error
    try:
        if not is_free(descriptor):
            raise UserError(
                f"another muster is making something in {path}",
                hint="wait until it is done, then run this again",
            )
        yield
    finally:
        os.close(descriptor)


def is_free(descriptor: int) -> bool:
    """Take the lock of an open file, for as long as it is open; False when somebody else has it.

    Where there are no locks, as for folders on some network file systems, everything is free.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def part_of(path: Path) -> Path:
    """The name that a file has while it is written: hidden, beside its own, and like no name of a user's."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")


def is_part_of(path: Path, name: str) -> bool:
    """Whether a path is the temporary name of a file of this name."""
    return re.fullmatch(rf"\.{re.escape(name)}\.[0-9a-f]{{8}}\.part", path.name) is not None


def remove_leftovers(folder: Path, names: Iterable[str]) -> None:
    """Remove what runs that were killed left of these files; what somebody still writes is locked.

    Whoever calls it holds the lock of the folder.
    """
    wanted = set(names)
    for path in folder.glob(".*.part"):
        if not any(is_part_of(path, name) for name in wanted) or not path.is_file():
            continue
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                if is_free(descriptor):
                    path.unlink()
            finally:
                os.close(descriptor)


def sync_folder(path: Path) -> None:
    """Let the names in a folder reach the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
