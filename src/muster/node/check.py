# SPDX-License-Identifier: Apache-2.0
"""Reading back what was written: the disk itself is asked, not the memory that it went through.

Each partition of the image is compared but for ``boot``, where coreos-installer puts the configuration.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import mmap
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from muster.errors import ExternalError, cannot
from muster.frozen import dataclass
from muster.node.following import in_thread
from muster.node.gpt import Partition, read_table
from muster.node.pace import Seen
from muster.node.plan import Content
from muster.node.telling import See

T = TypeVar("T")
_CHANGED: Final = "boot"
_CHUNK: Final = 4 << 20
_BLOCK: Final = 4096
_BUFFER: Final = _CHUNK + 2 * _BLOCK
_FINE: Final = 512


@dataclass(frozen=True)
class Difference:
    """Where a disk is not as the image."""

    offset: int
    partition: str


Report: TypeAlias = Callable[[int, int], None]
"""Called with the bytes that are done, and all bytes."""


async def check_written(image: Path, disk: Path, see: See) -> None:
    """Compare the disk with the image; a difference is an error that says where it is."""
    found = await _with_progress(lambda report, stop: compare(image, disk, report, stop), see)
    if found is not None:
        raise ExternalError(
            f"the disk {disk} does not hold what was written to it: the first difference is at byte "
            f"{found.offset} (partition {found.partition})",
            hint="check the disk, its cable and the memory; replace what is broken, then install again",
        )


async def check_image(image: Path, content: Content, see: See) -> None:
    """Refuse an image that is not what it has to be, before anything is written."""
    found = await _with_progress(lambda report, stop: measure(image, content.size_bytes, report, stop), see)
    if found != content.sha256:
        raise ExternalError(
            f"the system's image {image} is damaged, or was changed: its SHA-256 is {found}, expected "
            f"{content.sha256}; nothing was written",
            hint="verify the medium with `muster media verify`, write it again, and restart this host",
        )


async def _with_progress(work: Callable[[Report, threading.Event], T], see: See) -> T:
    """Run work in a thread that reports its progress, and stop it when this task is cancelled."""
    loop, stop = asyncio.get_running_loop(), threading.Event()

    def report(done: int, total: int) -> None:
        loop.call_soon_threadsafe(see, Seen(done, total, 100 * done // total))

    def end(_number: signal.Signals) -> None:
        stop.set()

    return await in_thread(lambda: work(report, stop), end)


def measure(image: Path, size: int, tell: Report, stop: threading.Event) -> str:
    """The SHA-256 of the first bytes of an image."""
    digest = hashlib.sha256()
    with _opened(image, direct=False) as source:
        for offset in range(0, size, _CHUNK):
            if stop.is_set():
                break
            digest.update(source.read_at(min(_CHUNK, size - offset), offset))
            tell(min(size, offset + _CHUNK), size)
    return digest.hexdigest()


def compare(image: Path, disk: Path, tell: Report, stop: threading.Event) -> Difference | None:
    """The first difference, or None. It takes a while; ``stop`` ends it at once, as if there was none."""
    with _opened(image, direct=False) as source, _opened(disk, direct=True) as target:
        partitions = read_table(source.read_at, str(image))
        wanted = [each for each in partitions if each.name != _CHANGED]
        _check_table(wanted, read_table(target.read_at, str(disk)), disk)
        total, done = sum(each.size for each in wanted), 0
        for partition in wanted:
            for size, offset in _chunks(partition):
                if stop.is_set():
                    return None
                written, found = source.read_at(size, offset), target.read_at(size, offset)
                if written != found:
                    return Difference(offset + _first_difference(written, found), partition.name)
                done += size
                tell(done, total)
    return None


def _check_table(wanted: list[Partition], found: tuple[Partition, ...], disk: Path) -> None:
    """Partitions that were kept may be in between, and so numbers may differ."""
    there = {(each.name, each.kind, each.start, each.size) for each in found}
    for each in wanted:
        if (each.name, each.kind, each.start, each.size) not in there:
            raise ExternalError(
                f"the disk {disk} does not hold what was written to it: the partition {each.name} is not "
                "where it has to be",
                hint="check the disk and its cable, then install again",
            )


def _chunks(partition: Partition) -> Iterator[tuple[int, int]]:
    end = partition.start + partition.size
    for offset in range(partition.start, end, _CHUNK):
        yield min(_CHUNK, end - offset), offset


def _first_difference(one: bytes, other: bytes) -> int:
    for start in range(0, min(len(one), len(other)), _FINE):
        if one[start : start + _FINE] != other[start : start + _FINE]:
            pairs = zip(one[start : start + _FINE], other[start : start + _FINE], strict=False)
            return start + next((index for index, (left, right) in enumerate(pairs) if left != right), 0)
    return min(len(one), len(other))


class _Device:
    """A disk or file; a direct one is read past the kernel's memory, or after that has let go of it."""

    def __init__(self, path: Path, *, direct: bool) -> None:
        self._path = path
        self._descriptor, is_direct = _open(path, direct=direct)
        # Direct reads want memory that begins on a page, and whole blocks.
        self._buffer = mmap.mmap(-1, _BUFFER)
        if direct and not is_direct:
            os.fsync(self._descriptor)
            os.posix_fadvise(self._descriptor, 0, 0, os.POSIX_FADV_DONTNEED)

    def read_at(self, size: int, offset: int) -> bytes:
        """Bytes at an offset; fewer at the end."""
        begin = offset // _BLOCK * _BLOCK
        wanted = -(-(offset + size - begin) // _BLOCK) * _BLOCK
        try:
            got = self._fill(wanted, begin)
        except OSError as error:
            raise ExternalError(
                f"cannot read {self._path} at byte {offset}: {(error.strerror or str(error)).lower()}",
                hint="check the disk and its cable, and the kernel's messages with dmesg",
            ) from error
        return self._buffer[offset - begin : min(got, offset - begin + size)]

    def _fill(self, wanted: int, begin: int) -> int:
        got = 0
        with memoryview(self._buffer) as view:
            while got < wanted:
                with view[got:wanted] as rest:
                    count = os.preadv(self._descriptor, [rest], begin + got)
                if count == 0:
                    break
                got += count
        return got

    def close(self) -> None:
        self._buffer.close()
        os.close(self._descriptor)


def _open(path: Path, *, direct: bool) -> tuple[int, bool]:
    flags = os.O_RDONLY | os.O_CLOEXEC
    try:
        try:
            return os.open(path, flags | (os.O_DIRECT if direct else 0)), direct
        except OSError as error:
            if error.errno != errno.EINVAL:  # A file system without direct reads.
                raise
            return os.open(path, flags), False
    except OSError as error:
        raise cannot("read", path, error) from error


@contextlib.contextmanager
def _opened(path: Path, *, direct: bool) -> Iterator[_Device]:
    device = _Device(path, direct=direct)
    try:
        yield device
    finally:
        device.close()
