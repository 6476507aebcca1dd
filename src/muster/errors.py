# SPDX-License-Identifier: Apache-2.0
"""Every error a user can meet, as a tree.

    MusterError                 something went wrong that is not a bug in Muster
    ├── UserError               the caller asked for something that cannot be done as asked
    │   ├── ConfigError         the site's files do not hold; every problem was already reported
    │   └── MediaError          a medium or base image that cannot be used
    ├── ExternalError           the world around us failed: disk full, permission, network
    └── Interrupted             the user pressed Ctrl-C, or the system asked us to stop

Anything else that reaches the command line is a bug: it leaves a crash file and exit status 70.
Exit statuses are those of ``openshift-install``, so that scripts written for it keep working.
"""

from __future__ import annotations

import errno
from enum import IntEnum
from pathlib import Path


class ExitStatus(IntEnum):
    """What the process tells its caller."""

    OK = 0
    FAILED = 1
    USAGE = 2
    INVALID_CONFIG = 3
    BOOTSTRAP_FAILED = 5
    INSTALL_FAILED = 6
    INTERRUPTED = 8
    BUG = 70


class MusterError(Exception):
    """A failure with a message for the user: a lower-case fact, and a hint that is an action."""

    status = ExitStatus.FAILED

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UserError(MusterError):
    """The caller asked for something that cannot be done as asked."""


class ConfigError(UserError):
    """The site's files do not hold. The problems themselves were reported before this is raised."""

    status = ExitStatus.INVALID_CONFIG


class MediaError(UserError):
    """A medium or base image that cannot be used: not what it should be, damaged, or too small."""


class ExternalError(MusterError):
    """The world around us failed."""


class Interrupted(MusterError):
    """The user, or the system, asked us to stop."""

    status = ExitStatus.INTERRUPTED

    def __init__(self) -> None:
        super().__init__("interrupted", hint="nothing was left half-written; run the command again")


_OS_HINTS = {
    errno.ENOSPC: "free some space on that file system, then run the command again",
    errno.EDQUOT: "the disk quota is used up; free some space, then run the command again",
    errno.EROFS: "that file system is read-only; choose another place with --dir",
    errno.EACCES: "check the owner and mode of that path, or choose another place with --dir",
    errno.EPERM: "check the owner and mode of that path, or choose another place with --dir",
    errno.ENOTDIR: "a part of that path is a file, not a directory",
    errno.ELOOP: "a symbolic link on that path points back at itself; remove it",
    errno.ENAMETOOLONG: "choose a shorter path",
}


def cannot(verb: str, path: Path, error: OSError) -> ExternalError:
    """Turn what the operating system said about a path into an error with a way out."""
    reason = (error.strerror or str(error)).lower()
    return ExternalError(
        f"cannot {verb} {path}: {reason}",
        hint=_OS_HINTS.get(error.errno or 0, "check that path, then run the command again"),
    )
