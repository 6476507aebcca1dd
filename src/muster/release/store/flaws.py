# SPDX-License-Identifier: Apache-2.0
"""What can be wrong with a blob, wherever it is: in a store, on a damaged medium, in somebody's archive."""

from __future__ import annotations

import errno
from enum import StrEnum
from pathlib import Path
from typing import Final

from muster.errors import ExternalError, MediaError, cannot
from muster.release.oci.digest import Digest

_LOST: Final = (errno.EIO, errno.EBADMSG, errno.EUCLEAN, errno.ENODATA, errno.EREMOTEIO)
"""What a medium says that lost some of its bytes, or is not there any more."""


class Flaw(StrEnum):
    """What is wrong with a blob."""

    MISSING = "missing"
    UNREADABLE = "unreadable"
    SIZE = "wrong-size"
    CONTENT = "wrong-content"
    MANIFEST = "bad-manifest"


class BadBlob(MediaError):
    """A blob that cannot be used as it is; another copy of it may be good."""

    def __init__(self, flaw: Flaw, message: str, *, hint: str = "copy it again from its source") -> None:
        super().__init__(message, hint=hint)
        self.flaw = flaw


class WrongBlob(ExternalError):
    """What came in is not the blob that was asked for; nothing of it was kept."""


def missing(digest: Digest, where: object) -> BadBlob:
    return BadBlob(
        Flaw.MISSING, f"the blob {digest} is not in {where}", hint="copy the release into the store again"
    )


def damaged(where: object) -> BadBlob:
    return BadBlob(Flaw.CONTENT, f"{where} is damaged: its content is not what its name says")


def wrong_size(where: object, size_bytes: int, wanted_bytes: int) -> BadBlob:
    return BadBlob(Flaw.SIZE, f"{where} has {size_bytes} bytes, and should have {wanted_bytes}")


def unreadable(where: Path, error: OSError) -> BadBlob | ExternalError:
    """What the operating system said while a blob was read."""
    if error.errno in _LOST:
        reason = (error.strerror or str(error)).lower()
        return BadBlob(Flaw.UNREADABLE, f"{where} cannot be read: {reason}")
    return cannot("read", where, error)
