# SPDX-License-Identifier: Apache-2.0
"""Sidecar file beside a SQLite database that holds the place of its last commit.

SQLite drops the end of a damaged write-ahead log without an error, and with it commits that were
acknowledged. The sidecar file tells that they are missing. It is written after a commit is durable and is not
synced itself: after a power cut it may be behind the database, but it is never ahead of what was durable.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

from muster.frozen import dataclass

_log: Final = logging.getLogger("muster.service")
_LINE: Final = re.compile(rb"muster-last-commit 1 (\d{20}) (\d{20}) ([0-9a-f]{32}|-{32}) ([0-9a-f]{16})\n")
_SUM_BYTES: Final = 18
"""The checksum at the end, the space before it and the end of the line."""
_NO_DIGEST: Final = "-" * 32


@dataclass(frozen=True)
class Head:
    """Where a database is: its last event, and how many decisions were written in all."""

    sequence: int = 0
    commits: int = 0
    """The sum of the versions of all realms: a decision that only writes files has no event."""
    digest: str = _NO_DIGEST
    """Of the last event."""


def digest_of(body: bytes) -> str:
    """The digest of an event as it is stored."""
    return hashlib.blake2b(body, digest_size=16).hexdigest()


def sidecar_of(database: Path) -> Path:
    """The sidecar file of a database."""
    return database.with_name(f"{database.name}.last-commit")


def read_head(database: Path) -> Head | None:
    """What the sidecar file says; None when there is none, or it cannot be read."""
    try:
        with sidecar_of(database).open("rb") as file:
            found = _LINE.fullmatch(file.read(256))
    except OSError:
        return None
    if found is None or found[4] != _checksum(found[0][:-_SUM_BYTES]):
        return None
    return Head(int(found[1]), int(found[2]), found[3].decode("ascii"))


def describe_loss(noted: Head | None, found: Head, digest_there: str | None) -> str:
    """What a database lacks of what was noted, as a sentence; empty when it lacks nothing.

    ``digest_there`` is that of the event in the database at the place that was noted.
    """
    if noted is None:
        return ""
    events, commits = noted.sequence - found.sequence, noted.commits - found.commits
    if events > 0 or commits > 0:
        return (
            f"the database has lost commits that were acknowledged: {max(events, 0)} events and"
            f" {max(commits, 0)} changes are missing (last event {found.sequence}, expected"
            f" {noted.sequence})"
        )
    if noted.sequence and digest_there != noted.digest:
        return (
            f"the database has another history than before: its event {noted.sequence} is not the one that"
            " was committed"
        )
    return ""


class LastCommit:
    """The sidecar file of a database that is open for writing."""

    def __init__(self, database: Path) -> None:
        self._lock = threading.Lock()
        self._written = Head()
        self._file: int | None = None
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            self._file = os.open(sidecar_of(database), flags, 0o600)
        except OSError as error:
            _log.warning(
                "cannot write %s: %s; the loss of commits would not be noticed",
                sidecar_of(database),
                error.strerror,
            )

    def write(self, head: Head) -> None:
        """Note a commit that is durable. One write of less than a sector replaces the whole content."""
        with self._lock:
            if self._file is None or head.commits < self._written.commits:
                return
            self._written = head
            with suppress(OSError):  # The commit itself is durable; a full disk is reported by the next one.
                os.pwrite(self._file, _render(head), 0)

    def close(self) -> None:
        """Sync it and let it go."""
        with self._lock:
            if self._file is not None:
                with suppress(OSError):
                    os.fsync(self._file)
                os.close(self._file)
                self._file = None


def _render(head: Head) -> bytes:
    text = f"muster-last-commit 1 {head.sequence:020d} {head.commits:020d} {head.digest}".encode("ascii")
    return b"%s %s\n" % (text, _checksum(text))


def _checksum(text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=8).hexdigest().encode("ascii")
