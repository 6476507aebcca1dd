# SPDX-License-Identifier: Apache-2.0
"""What the cache holds: to list it, to verify it, and to remove what is not used any more.

Only names that Muster itself gives are seen, in a directory that it marked: everything else is of others.
"""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Final

from muster.errors import ExternalError, UserError
from muster.folders import TAG, TAG_FILE
from muster.frozen import dataclass
from muster.image.cache.hashes import hash_file
from muster.image.cache.made import MANIFEST, Sort, find_locks, find_made, find_manifest, is_open, measure
from muster.image.cache.places import cannot_keep
from muster.image.cache.records import ImageRecord, PartRecord, UrlRecord, find_record, find_time
from muster.image.cache.store import Cache
from muster.lock import Lock, find_free_lock
from muster.progress import Progress

_IN_FLIGHT: Final = timedelta(hours=1)
"""How long a temporary name may belong to somebody who is just writing it."""
_KEY: Final = "[0-9a-f]{32}"
_SHA256: Final = "[0-9a-f]{64}"
_IMAGE: Final = re.compile(rf"{_SHA256}\.iso")
_PARTIAL: Final = re.compile(rf"{_KEY}\.part")
_DERIVED: Final = re.compile(_SHA256)
_RECORD: Final = re.compile(rf"{_KEY}\.json")
_LOCK: Final = re.compile(rf"(?:url-{_KEY}|image-{_SHA256}|toolbox-[0-9a-f]{{16}})\.lock")
_TEMPORARY: Final = re.compile(r"\..+\.[0-9a-f]{8}\.part")
_WITH_TEMPORARIES: Final = ("images", "urls", "parts", "hashes")


class Kind(StrEnum):
    """What an item of the cache is."""

    IMAGE = "image"
    PARTIAL = "partial"
    DERIVED = "derived"
    MACHINE_OS = "machine-os"
    INSTALLED = "installed"
    TOOLBOX = "toolbox"
    LISTS = "lists"
    PACKAGE = "package"
    PROGRAM = "program"
    LAYER = "layer"
    STORE = "store"
    GO = "go"
    WHEEL = "wheel"


@dataclass(frozen=True)
class Item:
    """Something in the cache that takes room."""

    kind: Kind
    key: str
    """The sha256 of an image; for the rest, what its files are called by."""
    path: Path
    size_bytes: int
    origins: tuple[str, ...]
    used_at: datetime
    total_bytes: int = 0
    """How large a partial download will be; 0 when nobody knows."""
    sort: Sort | None = None
    """What is not of images."""


class Verdict(StrEnum):
    """What became of an item."""

    GOOD = "good"
    DAMAGED = "damaged"
    REMOVED = "removed"
    IN_USE = "in use"


def find_items(cache: Cache) -> list[Item]:
    """Everything that takes room, the most recently used first."""
    _check_ours(cache)
    found = [*_images(cache), *_partials(cache), *_derived(cache), *_made(cache)]
    return sorted(found, key=lambda item: (item.used_at, item.key), reverse=True)


def _check_ours(cache: Cache) -> None:
    """Refuse a directory that holds something and is not marked as ours; others write such tags, too."""
    try:
        if not any(cache.root.iterdir()):
            return
    except OSError:
        return  # What cannot be listed cannot be emptied, either.
    try:
        tag = (cache.root / TAG_FILE).read_bytes()
    except OSError:
        tag = b""
    if not tag.startswith(TAG.partition(b"\n")[0]) or b"Muster" not in tag:
        raise UserError(
            f"{cache.root} is not a cache of Muster: it has no {TAG_FILE} of it",
            hint="name the directory that Muster keeps its images in with --cache-dir or MUSTER_CACHE",
        )


def _images(cache: Cache) -> Iterator[Item]:
    for path in _files(cache.root / "images", _IMAGE):
        record = find_record(path.with_suffix(".json"), ImageRecord) or ImageRecord()
        used = find_time(record.used_at) or _changed(path)
        yield Item(Kind.IMAGE, path.stem, path, _size(path), record.origins, used)


def _partials(cache: Cache) -> Iterator[Item]:
    for path in _files(cache.root / "parts", _PARTIAL):
        record = find_record(path.with_suffix(".json"), PartRecord) or PartRecord()
        size = _size(path) + _size(path.with_suffix(".unpacked"))
        origins = (record.url,) if record.url else ()
        yield Item(Kind.PARTIAL, path.stem, path, size, origins, _changed(path), record.total_bytes)


def _derived(cache: Cache) -> Iterator[Item]:
    """By the image that it was made from, which may be a local file that the cache does not hold."""
    for folder in _leaves(cache):
        files = [path for path in folder.rglob("*") if path.is_file()]
        used = max(map(_changed, [folder, *files]))
        names = tuple(sorted(path.name for path in files))
        yield Item(Kind.DERIVED, folder.name, folder, sum(map(_size, files)), names, used)


def _made(cache: Cache) -> Iterator[Item]:
    for sort, path in find_made(cache.root):
        manifest = find_manifest(path)
        origins = (sort.origin,) if sort.origin else ()
        if manifest is not None:
            origins = (f"{manifest.get('architecture')}, {manifest.get('hardware')} hardware",)
        yield Item(Kind(sort.kind), path.name, path, measure(path), origins, _changed(path), sort=sort)


def _leaves(cache: Cache) -> list[Path]:
    return [
        path for path in _named(cache.root / "leaves", _DERIVED) if path.is_dir() and not path.is_symlink()
    ]


def _files(folder: Path, form: re.Pattern[str]) -> list[Path]:
    return [path for path in _named(folder, form) if path.is_file()]


def _named(folder: Path, form: re.Pattern[str]) -> list[Path]:
    try:
        names = sorted(folder.iterdir())
    except OSError:
        return []
    return [path for path in names if form.fullmatch(path.name)]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _changed(path: Path) -> datetime:
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except OSError:
        return datetime.fromtimestamp(0, UTC)


def verify_item(cache: Cache, item: Item, progress: Progress) -> Verdict | None:
    """Hash what has a hash to compare with; None for the rest: packages are hashed whenever they are used."""
    match item.kind:
        case Kind.IMAGE:
            return verify_image(cache, item, progress)
        case Kind.MACHINE_OS:
            return _verify_build(cache, item, progress)
        case _:
            return None


def _verify_build(cache: Cache, item: Item, progress: Progress) -> Verdict:
    wanted = (find_manifest(item.path) or {}).get("files", {})
    try:
        good = bool(wanted) and all(
            hash_file(path, progress, f"verifying {item.key[:12]} {path.name}").sha256
            == wanted.get(path.name, {}).get("sha256")
            for path in sorted(item.path.iterdir())
            if path.name != MANIFEST
        )
    except (ExternalError, OSError):
        if not item.path.exists():
            return Verdict.REMOVED  # Somebody else was faster.
        raise
    if good:
        return Verdict.GOOD
    return Verdict.REMOVED if remove_item(cache, item) == Verdict.REMOVED else Verdict.DAMAGED


def verify_image(cache: Cache, item: Item, progress: Progress) -> Verdict:
    """Hash all of an image; a damaged one is removed, so that the next run fetches it again."""
    try:
        if hash_file(item.path, progress, f"verifying {item.key[:12]}").sha256 == item.key:
            return Verdict.GOOD
    except ExternalError:
        if not item.path.exists():
            return Verdict.REMOVED  # Somebody else was faster.
        raise
    return Verdict.REMOVED if remove_item(cache, item) == Verdict.REMOVED else Verdict.DAMAGED


def choose_items(items: list[Item], now: datetime, older_than: timedelta | None) -> list[Item]:
    """What was not used for so long; all of it without a limit."""
    return [item for item in items if older_than is None or now - item.used_at >= older_than]


def remove_item(cache: Cache, item: Item) -> Verdict:
    """Remove an item, unless somebody is using it."""
    with contextlib.ExitStack() as stack:
        for path in _locks(cache, item):
            lock = _find_free_lock(path)
            if lock is None:
                return Verdict.IN_USE
            stack.callback(lock.release, remove=True)
        if item.sort is not None and item.sort.is_folder and is_open(item.path):
            return Verdict.IN_USE
        _remove(item)
        if item.kind is Kind.IMAGE:
            _forget_urls(cache, item.key)
    return Verdict.REMOVED


def _locks(cache: Cache, item: Item) -> list[Path]:
    if item.sort is not None:
        return find_locks(cache.root, item.sort)
    return [cache.places.lock("url" if item.kind is Kind.PARTIAL else "image", item.key)]


def _find_free_lock(path: Path) -> Lock | None:
    try:
        return find_free_lock(path)
    except OSError as error:
        raise cannot_keep(path, error) from error


def _remove(item: Item) -> None:
    try:
        if item.path.is_dir():
            shutil.rmtree(item.path)
        elif item.sort is not None:
            item.path.unlink()
        else:
            for suffix in (item.path.suffix, ".unpacked", ".json"):
                item.path.with_suffix(suffix).unlink(missing_ok=True)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise cannot_keep(item.path, error) from error


def _forget_urls(cache: Cache, sha256: str) -> None:
    for path in _files(cache.root / "urls", _RECORD):
        record = find_record(path, UrlRecord)
        if record is None or record.sha256 == sha256:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)


def sweep(cache: Cache, now: datetime, older_than: timedelta | None) -> int:
    """Remove small files that nothing needs: old hashes, locks, and what crashes left; tell how many."""
    _check_ours(cache)
    count = 0
    for path in _files(cache.root / "hashes", _RECORD):
        if older_than is None or now - _changed(path) >= older_than:
            count += _unlink(path)
    for folder in (*(cache.root / name for name in _WITH_TEMPORARIES), *_leaves(cache)):
        for path in _files(folder, _TEMPORARY):
            if now - _changed(path) >= _IN_FLIGHT:
                count += _unlink(path)
    for path in _files(cache.root / "locks", _LOCK):
        if older_than is None or now - _changed(path) >= older_than:
            count += _unlock(path)
    return count


def _unlock(path: Path) -> int:
    with contextlib.suppress(OSError):
        lock = find_free_lock(path)
        if lock is not None:
            lock.release(remove=True)
            return 1
    return 0


def _unlink(path: Path) -> int:
    with contextlib.suppress(OSError):
        path.unlink()
        return 1
    return 0
