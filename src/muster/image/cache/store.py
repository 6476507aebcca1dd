# SPDX-License-Identifier: Apache-2.0
"""The cache. Processes share it, it may be read-only or lost: what can be done without it still is."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Final

from muster.errors import ExternalError
from muster.files import part_of
from muster.folders import mark_cache
from muster.image.cache.hashes import Hashed, fingerprint, hash_file, is_racy, stat_file
from muster.image.cache.places import NOWHERE, Places, cannot_keep
from muster.image.cache.records import (
    HashRecord,
    ImageRecord,
    UrlRecord,
    find_record,
    render_time,
    save_record,
)
from muster.lock import Lock, take_lock
from muster.progress import Progress
from muster.units import render_size

_logger: Final = logging.getLogger(__name__)
_WAY_OUT: Final = "name a writable directory with --cache-dir or MUSTER_CACHE"


def _now() -> datetime:
    return datetime.now(UTC)


def _free_bytes(path: Path) -> int:
    return shutil.disk_usage(path).free


class Cache:
    """What is kept between runs. Images that were handed out stay until it is closed, also from `prune`."""

    def __init__(
        self,
        root: Path,
        *,
        clock: Callable[[], datetime] = _now,
        free_bytes: Callable[[Path], int] = _free_bytes,
    ) -> None:
        self.places = Places(root)
        self.clock = clock
        self._free_bytes = free_bytes
        self._held: dict[str, Lock] = {}

    @property
    def root(self) -> Path:
        return self.places.root

    def __enter__(self) -> Cache:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the images that were handed out."""
        for lock in self._held.values():
            lock.release()
        self._held.clear()

    @cached_property
    def unwritable(self) -> str:
        """Why nothing can be kept; empty when it can."""
        if self.root == NOWHERE:
            return "neither HOME nor XDG_CACHE_HOME says where it is"
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            # Asks for the file system, too: root may write to any directory, but not to a read-only disk.
            if not os.access(self.root, os.W_OK | os.X_OK):
                return f"{self.root} is read-only"
            mark_cache(self.root)
        except ExternalError as error:
            return error.message
        except OSError as error:
            return f"cannot write {self.root}: {(error.strerror or str(error)).lower()}"
        return ""

    def need_writable(self, what_else: str) -> None:
        """Refuse work that has to keep something."""
        if self.unwritable:
            raise ExternalError(
                f"there is no cache to download to: {self.unwritable}", hint=f"{_WAY_OUT}, or {what_else}"
            )

    def check_space(self, needed_bytes: int) -> None:
        """Refuse to begin what does not fit."""
        free = self._free_bytes(self.root)
        if needed_bytes > free:
            raise ExternalError(
                f"{render_size(needed_bytes)} are needed in {self.root}, and {render_size(free)} are free",
                hint="free some space (`muster cache prune` may), or name another place with --cache-dir",
            )

    # Locks

    def lock(self, kind: str, key: str, on_wait: Callable[[str], None]) -> Lock:
        """Be the only one who works on something."""
        path = self.places.lock(kind, key)
        try:
            return take_lock(path, on_wait=on_wait)
        except OSError as error:
            raise cannot_keep(path, error) from error

    def hold(self, sha256: str) -> None:
        """Keep an image from being pruned until the cache is closed."""
        if sha256 in self._held or self.unwritable:
            return
        with contextlib.suppress(OSError):
            path = self.places.lock("image", sha256)
            self._held[sha256] = take_lock(path, shared=True, on_wait=lambda _: None)

    # Images

    def find_image(self, sha256: str, progress: Progress) -> ImageRecord | None:
        """An image whose content is right, by its hash or that of the file it was packed in; it is held."""
        name = sha256 if self.places.image(sha256).exists() else self._find_packed(sha256)
        if not name:
            return None
        self.hold(name)
        record = self._check(name, progress)
        if record is None:
            self._drop(name)
            return None
        record = replace(record, used_at=render_time(self.clock()))
        self._remember(self.places.image_record(name), record)
        return record

    def _find_packed(self, sha256: str) -> str:
        for path in sorted(self.root.glob("images/*.json")):
            record = find_record(path, ImageRecord)
            if record is not None and record.packed_sha256 == sha256 and path.with_suffix(".iso").exists():
                return path.stem
        return ""

    def _check(self, sha256: str, progress: Progress) -> ImageRecord | None:
        """The size is always compared; a file that was touched is hashed again."""
        path = self.places.image(sha256)
        record = find_record(self.places.image_record(sha256), ImageRecord) or ImageRecord()
        try:
            status = path.stat()
        except OSError:
            return None
        if record.size_bytes not in (0, status.st_size):
            return None
        if record.sha256 == sha256 and record.fingerprint == fingerprint(status):
            return record
        hashed = hash_file(path, progress, "checking the cached image")
        if hashed.sha256 != sha256:
            return None
        return replace(
            record, sha256=sha256, size_bytes=hashed.size_bytes, fingerprint=hashed.fingerprint,
            fetched_at=record.fetched_at or render_time(datetime.fromtimestamp(status.st_mtime, UTC)),
        )  # fmt: skip

    def _drop(self, sha256: str) -> None:
        _logger.warning("the cached image %s… is damaged, and is not used", sha256[:12])
        self._held.pop(sha256).release() if sha256 in self._held else None
        with contextlib.suppress(OSError):
            self.places.image(sha256).unlink(missing_ok=True)
            self.places.image_record(sha256).unlink(missing_ok=True)

    def add_image(self, arrived: Path, record: ImageRecord) -> ImageRecord:
        """Take a complete file into the cache by renaming it; it was verified, and is held from here on."""
        path = self.places.image(record.sha256)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _sync(arrived)
            self.hold(record.sha256)
            arrived.replace(path)
            _sync(path.parent)
            look = fingerprint(path.stat())
        except OSError as error:
            raise cannot_keep(path, error) from error
        older = find_record(self.places.image_record(record.sha256), ImageRecord) or ImageRecord()
        now = render_time(self.clock())
        record = replace(
            record,
            origins=tuple(dict.fromkeys((*older.origins, *record.origins))),
            packed_sha256=record.packed_sha256 or older.packed_sha256,
            fetched_at=now,
            used_at=now,
            fingerprint=look,
        )
        self._remember(self.places.image_record(record.sha256), record)
        return record

    # What URLs gave

    def find_url(self, url: str) -> UrlRecord | None:
        """What a URL gave the last time."""
        return find_record(self.places.url(url), UrlRecord)

    def save_url(self, url: str, record: UrlRecord) -> None:
        """Remember what a URL gave; its key is a hash, and what is kept of it has no secrets."""
        self._remember(self.places.url(url), record)

    # Local files

    def hash_of(self, path: Path, progress: Progress) -> Hashed:
        """What a local file hashes to; one that looks as it did the last time is not read."""
        real = path.resolve()
        status = stat_file(path)
        look = fingerprint(status)
        place = self.places.hash(real, look)
        known = find_record(place, HashRecord)
        if known is not None and (known.path, known.fingerprint) == (str(real), look):
            with contextlib.suppress(OSError):
                os.utime(place)  # The time of the last use, for `prune`.
            return Hashed(known.sha256, known.size_bytes, look)
        began = self.clock()
        hashed = hash_file(real, progress, f"hashing {path.name}")
        if self.unwritable:
            _logger.warning("%s is hashed in every run: %s", path, self.unwritable)
        elif not is_racy(status, began):
            self._remember(place, HashRecord(str(real), hashed.fingerprint, hashed.sha256, hashed.size_bytes))
        return hashed

    # What is derived from images

    def derived(self, sha256: str, name: str) -> Path:
        """Where something that was derived from an image is, or would be."""
        return self.places.leaf(sha256, name)

    def save_derived(self, sha256: str, name: str, chunks: Iterable[bytes]) -> Path:
        """Keep something that was derived from an image; it appears as a whole or not at all."""
        self.need_writable("go without what it would keep")
        path = self.places.leaf(sha256, name)
        temporary = part_of(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                with temporary.open("wb") as file:
                    file.writelines(chunks)
                _sync(temporary)
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)
            _sync(path.parent)
        except OSError as error:
            raise cannot_keep(path, error) from error
        return path

    def _remember(self, path: Path, record: ImageRecord | UrlRecord | HashRecord) -> None:
        """What cannot be kept will be found out again."""
        if self.unwritable:
            return
        try:
            save_record(path, record)
        except ExternalError as error:
            _logger.debug("not kept: %s", error.message)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
