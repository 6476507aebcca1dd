# SPDX-License-Identifier: Apache-2.0
"""xz as the kernel wants it, with little memory; and unpacking that no small file can blow up."""

from __future__ import annotations

import lzma
import zlib
from typing import Protocol

from muster.errors import MediaError

_XZ, _GZIP, _ZSTD = b"\xfd7zXZ\0", b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_SMALLEST_DICTIONARY, _LARGEST_DICTIONARY = 1 << 12, 64 << 20
_MEMORY_LIMIT = 256 << 20
_STEP = 1 << 20


def compress(data: bytes) -> bytes:
    """One xz stream with the CRC32 check, the only one the kernel is sure to know.

    The dictionary is as large as the data, not the 64 MiB of preset 9: same size, a fraction of the memory.
    """
    size = 1 << max(len(data) - 1, 1).bit_length()
    dictionary = min(max(size, _SMALLEST_DICTIONARY), _LARGEST_DICTIONARY)
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": dictionary}]
    return lzma.compress(data, format=lzma.FORMAT_XZ, check=lzma.CHECK_CRC32, filters=filters)


def is_compressed(data: bytes) -> bool:
    """Whether this starts with something that the kernel unpacks."""
    return data.startswith((_XZ, _GZIP, _ZSTD))


def decompress(data: bytes, *, limit: int, what: str) -> tuple[bytes, bytes]:
    """Unpack the first stream; give its content, at most `limit` bytes, and the bytes behind it."""
    if data.startswith(_ZSTD):
        raise MediaError(f"{what} is packed with zstd", hint="pack it with xz or gzip")
    try:
        if data.startswith(_GZIP):
            return _unpack(_Gzip(), data, limit, what)
        return _unpack(lzma.LZMADecompressor(lzma.FORMAT_XZ, _MEMORY_LIMIT), data, limit, what)
    except (lzma.LZMAError, zlib.error) as error:
        raise MediaError(
            f"{what} cannot be unpacked: {error}", hint="reset the image, or get it again"
        ) from error


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Gzip:
    """zlib with the manners of lzma: it keeps what it has not read yet."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(zlib.MAX_WBITS | 16)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)


def _unpack(decompressor: _Decompressor, data: bytes, limit: int, what: str) -> tuple[bytes, bytes]:
    parts: list[bytes] = []
    total = 0
    while not decompressor.eof:
        part = decompressor.decompress(data, _STEP)
        data = b""
        if not part and not decompressor.eof:
            raise MediaError(f"{what} ends in the middle", hint="reset the image, or get it again")
        parts.append(part)
        total += len(part)
        if total > limit:
            raise MediaError(
                f"{what} unpacks to more than {limit} bytes", hint="reset the image, or get it again"
            )
    return b"".join(parts), decompressor.unused_data
