# SPDX-License-Identifier: Apache-2.0
"""Blobs: files that are named by their digest, are written once, and appear only when they are whole."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from muster.errors import ExternalError, MediaError, cannot
from muster.files import save_new_file, sync_folder
from muster.lock import Lock, find_free_lock, take_lock
from muster.release.oci.digest import Digest, digest_of, hex_of

CHUNK: Final = 1 << 20
_UNREADABLE: Final = (errno.EIO, errno.EBADMSG, errno.EUCLEAN)
"""What a medium says that lost some of its bytes."""


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
            raise cannot("look at", self.path(digest), error) from error

    def read(self, digest: Digest, limit: int) -> bytes:
        """A small blob as a whole, checked."""
        with self.open(digest) as file:
            data = _read(file, self.path(digest), limit + 1)
        if len(data) > limit:
            raise MediaError(
                f"{self.path(digest)} has more than {limit} bytes", hint="it is not what it should be"
            )
        if digest_of(data) != digest:
            raise damaged(self.path(digest))
        return data

    def open(self, digest: Digest) -> BinaryIO:
        try:
            return self.path(digest).open("rb", buffering=0)
        except FileNotFoundError as error:
            raise MediaError(
                f"the blob {digest} is not in {self.root}", hint="copy the release into the store again"
            ) from error
        except OSError as error:
            raise cannot("read", self.path(digest), error) from error

    def put(self, data: bytes) -> Digest:
        """Keep a small blob."""
        digest = digest_of(data)
        if self.size(digest) != len(data):
            self._folder.mkdir(parents=True, exist_ok=True)
            save_new_file(self.path(digest), data)
        return digest

    @contextlib.contextmanager
    def receive(
        self, digest: Digest, size_bytes: int, *, on_wait: Callable[[str], None] = lambda _holder: None
    ) -> Iterator[Incoming]:
        """Take a blob in, piece by piece. What came before an interruption stays, and is gone on with.

        Two who bring the same blob take turns; the second finds it here (`is_here`).
        """
        part = self._partial / hex_of(digest)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            lock = take_lock(part.with_suffix(".lock"), on_wait=on_wait)
        except OSError as error:
            raise cannot("write to", self.root, error) from error
        try:
            incoming = Incoming(part, self.path(digest), digest, size_bytes)
            try:
                yield incoming
            finally:
                incoming.close()
        finally:
            lock.release(remove=not part.exists())

    def remove_partial(self) -> int:
        """Remove what interrupted transfers left and nobody goes on with; how many bytes that were."""
        freed = 0
        for part in sorted(self._partial.glob("*")) if self._partial.is_dir() else ():
            if part.suffix == ".lock":
                continue
            lock: Lock | None = find_free_lock(part.with_suffix(".lock"))
            if lock is None:
                continue
            with contextlib.suppress(OSError):
                freed += part.stat().st_size
                part.unlink()
            lock.release(remove=True)
        return freed


class Incoming:
    """A blob on its way in. See `Blobs.receive`."""

    def __init__(self, part: Path, path: Path, digest: Digest, size_bytes: int) -> None:
        self._part, self._path = part, path
        self._digest, self._size_bytes = digest, size_bytes
        self._hash = hashlib.sha256()
        self._file: BinaryIO | None = None
        self.offset = 0
        """How much is here; what comes next starts there."""
        self.is_here = path.exists()
        if not self.is_here:
            try:
                self._file = part.open("a+b", buffering=0)
                self._go_on()
            except OSError as error:
                raise cannot("write", part, error) from error

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
        self._hash, self.offset = hashlib.sha256(), 0

    def write(self, chunk: bytes | memoryview) -> None:
        assert self._file is not None
        if self.offset + len(chunk) > self._size_bytes:
            raise self._wrong(f"it has more than the {self._size_bytes} bytes that its manifest says")
        self._hash.update(chunk)
        left = memoryview(chunk)
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            raise cannot("write", self._path, error) from error
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
        if f"sha256:{self._hash.hexdigest()}" != self._digest:
            raise self._wrong(f"its content has the digest sha256:{self._hash.hexdigest()}")
        try:
            os.fsync(self._file.fileno())
            self._part.rename(self._path)
            sync_folder(self._path.parent)
        except OSError as error:
            raise cannot("write", self._path, error) from error
        self.is_here = True

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _wrong(self, why: str) -> ExternalError:
        self._part.unlink(missing_ok=True)
        return ExternalError(
            f"the blob {self._digest} is not what it should be: {why}",
            hint="nothing of it was kept; run the command again, or get it from elsewhere",
        )


def damaged(path: Path) -> MediaError:
    return MediaError(
        f"{path} is damaged: its content is not what its name says", hint="copy it again from its source"
    )


def _read(file: BinaryIO, path: Path, limit: int) -> bytes:
    """Up to so many bytes of a file."""
    pieces: list[bytes] = []
    left = limit
    try:
        while left and (piece := file.read(left)):
            pieces.append(piece)
            left -= len(piece)
    except OSError as error:
        if error.errno in _UNREADABLE:
            raise damaged(path) from error
        raise cannot("read", path, error) from error
    return b"".join(pieces)
