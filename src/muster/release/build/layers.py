# SPDX-License-Identifier: Apache-2.0
"""Layers: tar files, packed with zstd, that are the same bytes wherever and whenever they are made.

Entries are sorted, of root, and of no time. The compression always has one level and as many threads, since
both change its bytes; so does its version, which is told in the release.
"""

from __future__ import annotations

import hashlib
import io
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from muster.errors import cannot
from muster.frozen import dataclass
from muster.progress import Advance
from muster.release.oci.digest import Digest
from muster.release.oci.manifest import OCI_LAYER_ZSTD, Descriptor

if TYPE_CHECKING:
    from tarfile import TarFile, TarInfo

LEVEL: Final = 12
"""Higher ones take minutes for a tenth less."""
_WORKERS: Final = 2
"""Work is cut into pieces whose size depends on the level alone: any number but 0 gives the same bytes."""
_CHUNK: Final = 1 << 20


@dataclass(frozen=True)
class Entry:
    """A file or a link of a layer; the folders above it come along."""

    path: str
    """Without a slash at its beginning."""
    content: Path | bytes = b""
    mode: int = 0o644
    link: str = ""
    """Where a symbolic link points."""


@dataclass(frozen=True)
class Layer:
    """A layer that was made."""

    blob: Descriptor
    diff_id: Digest
    """What it hashes to unpacked."""


def zstd_version() -> str:
    return str(_zstd().zstd_version)


def write_layer(entries: Iterable[Entry], target: BinaryIO, advance: Advance = lambda _count: None) -> Layer:
    """Write a layer; ``advance`` is told how much was packed."""
    import tarfile  # Slow, and most commands never come here.

    packing = _Packing(target, advance)
    with tarfile.open(fileobj=packing, mode="w|", format=tarfile.USTAR_FORMAT) as tar:
        for entry in _with_folders(entries):
            _add(tar, entry)
    return packing.finish()


def _add(tar: TarFile, entry: Entry) -> None:
    from tarfile import DIRTYPE, SYMTYPE, TarInfo

    info = TarInfo(entry.path)
    info.mode, info.uname, info.gname = entry.mode, "root", "root"
    if entry.path.endswith("/"):
        info.name, info.type = entry.path.rstrip("/"), DIRTYPE
        tar.addfile(info)
    elif entry.link:
        info.type, info.linkname = SYMTYPE, entry.link
        tar.addfile(info)
    elif isinstance(entry.content, bytes):
        info.size = len(entry.content)
        tar.addfile(info, io.BytesIO(entry.content))
    else:
        _add_file(tar, info, entry.content)


def _add_file(tar: TarFile, info: TarInfo, source: Path) -> None:
    try:
        with source.open("rb") as file:
            info.size = source.stat().st_size
            tar.addfile(info, file)
    except OSError as error:
        raise cannot("read", source, error) from error


def _with_folders(entries: Iterable[Entry]) -> Iterator[Entry]:
    """In the order of their paths, each folder before what is in it."""
    seen: set[str] = set()
    for entry in sorted(entries, key=lambda each: each.path):
        for folder in reversed(PurePosixPath(entry.path).parents):
            path = f"{folder}/"
            if path != "./" and path not in seen:
                seen.add(path)
                yield Entry(path, mode=0o755)
        yield entry


class _Packing(io.RawIOBase):
    """A file to write to: what comes in goes out packed, and is hashed on both sides."""

    def __init__(self, target: BinaryIO, advance: Advance) -> None:
        super().__init__()
        zstd = _zstd()
        parameter = zstd.CompressionParameter
        self._packer = zstd.ZstdCompressor(
            options={
                parameter.compression_level: LEVEL,
                parameter.nb_workers: _WORKERS,
                parameter.checksum_flag: 1,
            }
        )
        self._target, self._advance = target, advance
        self._plain, self._packed = hashlib.sha256(), hashlib.sha256()
        self._size_bytes = 0

    def write(self, data: Any, /) -> int:
        self._plain.update(data)
        for start in range(0, len(data), _CHUNK):
            chunk = data[start : start + _CHUNK]
            self._put(self._packer.compress(chunk))
            self._advance(len(chunk))
        return len(data)

    def finish(self) -> Layer:
        self._put(self._packer.flush())
        blob = Descriptor(OCI_LAYER_ZSTD, _digest(self._packed.hexdigest()), self._size_bytes)
        return Layer(blob, _digest(self._plain.hexdigest()))

    def _put(self, data: bytes) -> None:
        self._target.write(data)
        self._packed.update(data)
        self._size_bytes += len(data)


def _digest(digits: str) -> Digest:
    return Digest(f"sha256:{digits}")


def _zstd() -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd

    return zstd
