# SPDX-License-Identifier: Apache-2.0
"""What has arrived of a download: the bytes as they were sent, their hash, and what they unpack to.

It stays on the disk when the process ends, so that the next one can go on.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from muster.errors import ExternalError
from muster.frozen import dataclass
from muster.image.cache.hashes import CHUNK_BYTES
from muster.image.cache.places import cannot_keep
from muster.image.cache.records import PartRecord, find_record, save_record
from muster.progress import Progress
from muster.release.unpack import HEAD_BYTES, Unpacker, find_unpacker

SUFFIXES: Final = (".part", ".json", ".unpacked")


@dataclass(frozen=True)
class Arrived:
    """A download that is complete, and not verified."""

    path: Path
    sha256: str
    size_bytes: int
    packed_sha256: str
    """What the compressed file hashes to; empty when it was not compressed."""


class _Unpacked:
    """The other file, when what arrives is compressed."""

    def __init__(self, path: Path, unpacker: Unpacker) -> None:
        self.path = path
        self.unpacker = unpacker
        self.digest = hashlib.sha256()
        self.size_bytes = 0
        self.file = path.open("wb")

    def write(self, data: bytes) -> None:
        for piece in self.unpacker.unpack(data):
            self.digest.update(piece)
            self.file.write(piece)
            self.size_bytes += len(piece)


class Part:
    """One download on the disk. What it raises about the disk keeps the bytes that are there."""

    def __init__(self, path: Path, shown: str) -> None:
        self._path = path
        self._shown = shown
        self._file: BinaryIO | None = None
        self.record = PartRecord()
        self.is_inherited = False
        """Whether some of it came from an earlier run."""
        self._reset()

    def _reset(self) -> None:
        self.size_bytes = 0
        self._digest = hashlib.sha256()
        self._head: bytes | None = b""
        self._unpacked: _Unpacked | None = None

    def resume(self, progress: Progress) -> None:
        """Take in what an earlier run left, if it can be gone on with."""
        record = find_record(self._path.with_suffix(".json"), PartRecord)
        size = self._path.stat().st_size if self._path.exists() else 0
        if record is None or not size or (record.total_bytes and size > record.total_bytes):
            return
        if not record.validator and size != record.total_bytes:
            return
        self.record, self.is_inherited = record, True
        with self._on_disk():
            self._file = self._path.open("r+b")
            with progress.bar("reading what has arrived before", total=size) as advance:
                while chunk := self._file.read(CHUNK_BYTES):
                    self._absorb(chunk)
                    advance(len(chunk))

    def restart(self, record: PartRecord) -> None:
        """Begin anew, with a file of which this is known."""
        self.close()
        self._reset()
        self.is_inherited = False
        self.record = record
        with self._on_disk():
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.unlink(missing_ok=True)
            self._file = self._path.open("wb")
            save_record(self._path.with_suffix(".json"), record)

    def write(self, chunk: bytes) -> None:
        """Add what has just arrived."""
        assert self._file is not None
        with self._on_disk():
            self._file.write(chunk)
            self._absorb(chunk)

    def _absorb(self, chunk: bytes) -> None:
        self.size_bytes += len(chunk)
        self._digest.update(chunk)
        if self._head is not None:
            self._head += chunk
            if len(self._head) < HEAD_BYTES:
                return
            chunk, self._head = self._head, None
            unpacker = find_unpacker(chunk, self._shown)
            if unpacker is not None:
                self._unpacked = _Unpacked(self._path.with_suffix(".unpacked"), unpacker)
        if self._unpacked is not None:
            self._unpacked.write(chunk)

    @property
    def is_complete(self) -> bool:
        """Whether all that was announced is there."""
        return bool(self.record.total_bytes) and self.size_bytes == self.record.total_bytes

    def finish(self) -> Arrived:
        """Nothing more comes; the files stay under their temporary names."""
        unpacked = self._unpacked
        if unpacked is not None:
            unpacked.unpacker.finish()
        with self._on_disk():
            for file in self._files():
                file.flush()
        self.close()
        sha256 = self._digest.hexdigest()
        if unpacked is None:
            return Arrived(self._path, sha256, self.size_bytes, "")
        return Arrived(unpacked.path, unpacked.digest.hexdigest(), unpacked.size_bytes, sha256)

    def discard(self) -> None:
        """Throw away what has arrived."""
        self.close()
        self._reset()
        self.record, self.is_inherited = PartRecord(), False
        remove_part(self._path)

    def close(self) -> None:
        """Leave what has arrived on the disk; what a full disk does not take was told before."""
        for file in self._files():
            with contextlib.suppress(OSError):
                file.close()
        self._file = None

    def _files(self) -> list[BinaryIO]:
        files = [self._file, self._unpacked.file if self._unpacked is not None else None]
        return [file for file in files if file is not None]

    @contextmanager
    def _on_disk(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            failed = cannot_keep(self._path, error)
            raise ExternalError(
                failed.message, hint=f"{failed.hint}; what has arrived is kept for the next run"
            ) from error


def remove_part(path: Path) -> None:
    """Remove the files of a download that is not to go on."""
    for suffix in SUFFIXES:
        with contextlib.suppress(OSError):
            path.with_suffix(suffix).unlink(missing_ok=True)
