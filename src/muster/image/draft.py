# SPDX-License-Identifier: Apache-2.0
"""A copy of a base image that is made ahead, beside the check of the site's files: both take as long as one.

It is a guess. When there is nothing to make, or the base image is another one after all, it is thrown away.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from muster.errors import ExternalError, MediaError, UserError, cannot
from muster.files import is_free, part_of
from muster.image.copy import Saving, check_space, copy_range, reserve, share_blocks, write_patches
from muster.image.overlay import Overlay

DRAFT_NAME: Final = "image"
_STEP: Final = 16 << 20


class Draft:
    """A file in the target's folder that fills with the bytes of a base image, in a thread of its own."""

    def __init__(self, source: Path, temporary: Path) -> None:
        self._base = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
        self._look = _look(os.fstat(self._base))
        self._temporary = temporary
        try:
            self._file = os.open(self._temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError:
            os.close(self._base)
            raise
        is_free(self._file)
        self._size = os.fstat(self._base).st_size
        self._done = 0
        self._is_image = False
        self._error: OSError | MediaError | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._copy, daemon=True)
        self._thread.start()

    def _copy(self) -> None:
        try:
            if share_blocks(self._base, self._file):
                self._done = self._size
                return
            reserve(self._file, self._size)
            while self._done < self._size and not self._stopped.is_set():
                self._done += copy_range(
                    self._base, self._file, self._done, min(_STEP, self._size - self._done)
                )
        except (OSError, MediaError) as error:
            self._error = error

    def finish(self, source: Path, overlay: Overlay, target: Path, saving: Saving) -> bool:
        """Make the image of it; False when it is not a copy of this base image, and nothing was done."""
        if self._look != _look(source.stat()) or overlay.base_size != self._size or target.is_symlink():
            return False
        while self._thread.is_alive():
            self._thread.join(0.1)
            if saving.progress is not None:
                saving.progress(self._done)
        if isinstance(self._error, OSError):
            raise cannot("write", target, self._error) from self._error
        if self._error is not None:
            raise self._error
        try:
            write_patches(self._file, overlay, saving)
            os.fchmod(self._file, saving.mode)
            os.ftruncate(self._file, overlay.size)
            if saving.durable:
                os.fsync(self._file)
            self._temporary.replace(target)
            self._is_image = True
        except OSError as error:
            raise cannot("write", target, error) from error
        return True

    def close(self) -> None:
        """Leave nothing behind that did not become an image."""
        self.discard()
        os.close(self._file)
        os.close(self._base)

    def discard(self) -> None:
        """Give back the room, unless it became an image."""
        self._stopped.set()
        self._thread.join()
        if not self._is_image:
            with contextlib.suppress(OSError):
                self._temporary.unlink(missing_ok=True)
                os.ftruncate(self._file, 0)


@contextlib.contextmanager
def start_draft(source: Path, folder: Path) -> Iterator[Draft | None]:
    """Begin to copy, if that is possible; whatever is wrong is told by those whose work it is.

    An interrupt at any moment leaves nothing behind, also before the copy has begun in earnest.
    """
    temporary = part_of(folder / DRAFT_NAME)
    draft = None
    try:
        draft = _begin(source, temporary)
        yield draft
    finally:
        if draft is not None:
            draft.close()
        else:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)


def _begin(source: Path, temporary: Path) -> Draft | None:
    try:
        check_space(temporary.with_name(source.name), source.stat().st_size)
        return Draft(source, temporary)
    except (OSError, ExternalError, UserError):
        return None


def _look(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
