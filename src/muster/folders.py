# SPDX-License-Identifier: Apache-2.0
"""Writing folders so that each of them is there as a whole or not at all: hidden name, flush, rename.

A flush takes the disk longer than anything else here, so that many folders share one.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from muster.errors import cannot
from muster.files import part_of, save_file

TAG_FILE: Final = "CACHEDIR.TAG"
TAG: Final = (
    b"Signature: 8a477f597d28d172789f06886806bc55\n# What Muster keeps between runs; it may be deleted.\n"
)
_PART: Final = re.compile(r"\..+\.[0-9a-f]{8}\.part\Z")


class Batch:
    """Folders below one place that appear together. See `start_batch`."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._begun: dict[Path, Path] = {}
        """The final name of each hidden folder; recorded before `mkdir`, as a signal may interrupt it."""

    @contextlib.contextmanager
    def new_folder(self, name: str) -> Iterator[Path]:
        """A folder that nobody sees yet; fill it within the block. If that fails, it is gone."""
        path = self._place / name
        temporary = part_of(path)
        self._begun[temporary] = path
        try:
            temporary.mkdir()
            yield temporary
        except BaseException as error:
            self._remove(temporary)
            if isinstance(error, OSError):
                raise cannot("write", path, error) from error
            raise

    def commit(self) -> None:
        """Wait until all is on the disk, then give the folders their names."""
        if not self._begun:
            return
        try:
            descriptor = os.open(self._place, os.O_RDONLY | os.O_DIRECTORY)
            try:
                _flush(descriptor)
                for temporary, path in self._begun.items():
                    temporary.rename(path)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise cannot("write to", self._place, error) from error
        self._begun.clear()

    def discard(self) -> None:
        """Remove the folders that did not get their names."""
        for temporary in tuple(self._begun):
            self._remove(temporary)

    def _remove(self, temporary: Path) -> None:
        shutil.rmtree(temporary, ignore_errors=True)
        self._begun.pop(temporary, None)


@contextlib.contextmanager
def start_batch(place: Path) -> Iterator[Batch]:
    """Folders that appear when the block ends; none of them when it fails."""
    batch = Batch(place)
    try:
        yield batch
        batch.commit()
    finally:
        batch.discard()


def put_files(folder: Path, files: Mapping[str, bytes], *, mode: int) -> None:
    """Write files into a folder that nobody sees yet, at most one folder deep."""
    for name, data in files.items():
        path = folder / name
        if "/" in name:
            path.parent.mkdir(exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            os.fchmod(descriptor, mode)
            left = memoryview(data)
            while left:
                left = left[os.write(descriptor, left) :]
        finally:
            os.close(descriptor)


def _flush(descriptor: int) -> None:
    """syncfs(2): wait until all that was written to a file system is on its disk."""
    import ctypes  # Slow, and most commands never come here.

    if ctypes.CDLL(None, use_errno=True).syncfs(descriptor) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def make_folder(path: Path) -> None:
    """A folder, and those above it, if they are not there yet."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot("make", path, error) from error


def mark_cache(root: Path) -> None:
    """Say that a folder is a cache of ours: backups leave it out, and only what is marked is ever emptied."""
    if not (root / TAG_FILE).exists():
        save_file(root / TAG_FILE, TAG)


def remove_parts(path: Path) -> None:
    """Remove what a batch left behind when the machine, or we, ended without a warning.

    Whoever calls it holds the lock of the folder.
    """
    for part in path.glob(".*.part"):
        if _PART.match(part.name) and part.is_dir() and not part.is_symlink():
            shutil.rmtree(part, ignore_errors=True)
