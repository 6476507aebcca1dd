# SPDX-License-Identifier: Apache-2.0
"""Unpacking gzip, xz and zstd while they arrive, in bounded memory. The first bytes tell what a file is."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Final, Protocol

from muster.release.oci.trouble import Damaged

HEAD_BYTES: Final = 6
"""As many bytes as it takes to know what a file is; they may arrive one by one."""
_GZIP: Final = b"\x1f\x8b\x08"
_XZ: Final = b"\xfd7zXZ\x00"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_SKIPPABLE: Final = b"\x2a\x4d\x18"
"""What a frame of zstd begins with that is none of its content, behind one more byte."""
_PIECE_BYTES: Final = 4 << 20
"""A megabyte of packed zeros is a gigabyte of zeros, so what comes out is taken in pieces."""
_MEMORY_BYTES: Final = 512 << 20
_ANY_GZIP: Final = 31
"""What zlib calls the format of gzip with a window of any size."""


class Unpacker(Protocol):
    """Takes packed bytes in any portions and gives what they unpack to."""

    def unpack(self, data: bytes) -> Iterator[bytes]:
        """What comes out when so much more goes in."""

    def finish(self) -> None:
        """Nothing more comes; raises when something is missing."""


def find_unpacker(head: bytes, shown: str) -> Unpacker | None:
    """What unpacks a file that begins so; None for one that is not packed."""
    if head.startswith(_GZIP):
        return _Gzip(shown)
    if head.startswith(_XZ):
        return _xz(shown)
    if head.startswith(_ZSTD) or head[1:].startswith(_SKIPPABLE):
        return _zstd(shown)
    return None


class _Gzip:
    """Gzip, also several files one after another, as pigz and bgzip write them."""

    def __init__(self, shown: str) -> None:
        self._shown = shown
        self._stream = zlib.decompressobj(_ANY_GZIP)

    def unpack(self, data: bytes) -> Iterator[bytes]:
        try:
            yield from self._pieces(data)
        except zlib.error as error:
            raise _damaged(self._shown, "gzip", str(error)) from error

    def _pieces(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._stream.eof:
                data = data.lstrip(b"\0")  # Tapes and block devices pad with zeros.
                if not data:
                    return
                self._stream = zlib.decompressobj(_ANY_GZIP)
            piece = self._stream.decompress(data, _PIECE_BYTES)
            data = self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail
            while piece:
                yield piece
                # All of the input may be taken in while some of the output is still inside.
                more = not data and not self._stream.eof
                piece = self._stream.decompress(b"", _PIECE_BYTES) if more else b""

    def finish(self) -> None:
        if not self._stream.eof:
            raise _damaged(self._shown, "gzip", "it ends too early")


class _Decompressor(Protocol):
    """What the standard library has for xz and zstd alike."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Streams:
    """Xz or zstd, also several streams one after another with padding between them."""

    def __init__(
        self, shown: str, form: str, new: Callable[[], _Decompressor], error: type[Exception]
    ) -> None:
        self._shown, self._form, self._new, self._error = shown, form, new, error
        self._stream = new()

    def unpack(self, data: bytes) -> Iterator[bytes]:
        try:
            yield from self._pieces(data)
        except self._error as error:
            raise _damaged(self._shown, self._form, str(error)) from error

    def _pieces(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._stream.eof:
                data = data.lstrip(b"\0")
                if not data:
                    return
                self._stream = self._new()
            piece = self._stream.decompress(data, _PIECE_BYTES)
            while piece or not (self._stream.eof or self._stream.needs_input):
                yield piece
                more = not (self._stream.eof or self._stream.needs_input)
                piece = self._stream.decompress(b"", _PIECE_BYTES) if more else b""
            data = self._stream.unused_data if self._stream.eof else b""

    def finish(self) -> None:
        if not self._stream.eof:
            raise _damaged(self._shown, self._form, "it ends too early")


def _xz(shown: str) -> _Streams:
    import lzma

    def new() -> _Decompressor:
        return lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=_MEMORY_BYTES)

    return _Streams(shown, "xz", new, lzma.LZMAError)


def _zstd(shown: str) -> _Streams:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd

    return _Streams(shown, "zstd", zstd.ZstdDecompressor, zstd.ZstdError)


def _damaged(shown: str, form: str, reason: str) -> Damaged:
    return Damaged(
        f"{shown} cannot be unpacked as {form}: {reason.lower()}",
        hint="the file is damaged where it comes from; ask for another copy, or name another source",
    )
