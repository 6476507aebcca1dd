# SPDX-License-Identifier: Apache-2.0
"""Blobs: files that are named by their digest, are written once, and appear only when they are whole."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from muster.files import sync_folder
from muster.lock import find_free_lock, take_lock
from muster.release.oci.digest import PREFIX, Digest, digest_of, hex_of, is_digest
from muster.release.store.flaws import BadBlob, Flaw, damaged, missing, unreadable
from muster.release.store.incoming import CHUNK as CHUNK
from muster.release.store.incoming import Incoming as Incoming
from muster.release.store.incoming import cannot_write, share_blocks


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
                return share_blocks(descriptor, probe.fileno())
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
