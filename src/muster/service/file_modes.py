# SPDX-License-Identifier: Apache-2.0
"""Owners and modes of the files that hold secrets: checked at the start, corrected where that is possible."""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path
from typing import Final

from muster.errors import UserError, cannot

_log: Final = logging.getLogger("muster.service")
_ROOT: Final = 0


def protect_file(path: Path) -> None:
    """Make a file accessible to this user alone, if it is there. One of another user is refused."""
    _protect(path, stat.S_IRWXG | stat.S_IRWXO)


def protect_folder(path: Path, *, is_listed: bool = False) -> None:
    """Take a directory away from other users; with ``is_listed`` they may still list it.

    One that users share, such as /tmp, is refused and stays as it is.
    """
    refuse_shared(path)
    _protect(path, stat.S_IWOTH if is_listed else stat.S_IRWXO)


def refuse_shared(path: Path) -> None:
    """Refuse a directory that users share, such as /tmp; the sticky bit tells that others may write it."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return
    except OSError as error:
        raise cannot("read", path, error) from error
    if mode & stat.S_ISVTX and mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UserError(
            f"{path} is a directory that several users share (mode {mode:04o})",
            hint=f"name a directory of its own with --data, such as {path / 'muster-data'}",
        )


def protect_database(path: Path) -> None:
    """Do so for a SQLite database and the files beside it."""
    for suffix in ("", "-wal", "-shm", "-journal", ".last-commit"):
        protect_file(path.with_name(path.name + suffix))


def check_owner(path: Path, status: os.stat_result) -> None:
    """Refuse what belongs to another user, who can read and replace it. Orchestrators mount as root."""
    own = os.geteuid()
    if status.st_uid not in (own, _ROOT):
        raise UserError(
            f"{path} belongs to user {status.st_uid}, but the service runs as user {own}",
            hint=f"that user can read and replace it; if you trust it: chown {own} {path}",
        )


def _protect(path: Path, forbidden: int) -> None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise cannot("read", path, error) from error
    check_owner(path, status)
    mode = stat.S_IMODE(status.st_mode)
    if not mode & forbidden:
        return
    if status.st_uid != os.geteuid():
        _check_of_root(path, mode)
        return
    try:
        path.chmod(mode & ~forbidden)
    except OSError as error:
        raise cannot("change the mode of", path, error) from error
    if mode & stat.S_IRWXO:
        _log.warning(
            "%s was accessible to all users (mode %04o), and is for this user alone now (mode %04o);"
            " if others may have read it, replace the secrets in it",
            path,
            mode,
            mode & ~forbidden,
        )


def _check_of_root(path: Path, mode: int) -> None:
    """The group may have access: that is how a cluster mounts volumes for a container."""
    if mode & stat.S_IRWXO and not stat.S_ISDIR(path.stat().st_mode):
        raise UserError(
            f"{path} is accessible to all users (mode {mode:04o}) and belongs to root",
            hint=f"take it away from other users: chmod o-rwx {path}",
        )
