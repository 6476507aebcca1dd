# SPDX-License-Identifier: Apache-2.0
"""An image as a table: which of its bytes are where in the base's file, and which are its own.

An overlay changes bytes where they are. Here they may also have moved, as those of a minimal image have. A
server needs to know which bytes it can send straight from the file.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import field

from muster.frozen import dataclass
from muster.image.overlay import Overlay, Pread


@dataclass(frozen=True)
class Stretch:
    """Some bytes of an image: these, or as many of the base from an offset on."""

    start: int
    length: int
    at: int = 0
    data: bytes | None = field(default=None, repr=False)

    @property
    def end(self) -> int:
        return self.start + self.length

    def cut(self, start: int, end: int) -> Stretch:
        """The part of it between two offsets of the image."""
        first, last = max(start, self.start), min(end, self.end)
        skip = first - self.start
        if self.data is None or (first, last) == (self.start, self.end):
            return Stretch(first, last - first, self.at + skip, self.data)
        return Stretch(first, last - first, data=self.data[skip : skip + last - first])


@dataclass(frozen=True)
class Assembly:
    """A whole image; its stretches follow each other without gaps."""

    stretches: tuple[Stretch, ...]

    @classmethod
    def of_base(cls, offset: int, length: int) -> Assembly:
        """Some bytes of a base as they are."""
        return cls((Stretch(0, length, offset),) if length else ())

    @classmethod
    def join(cls, parts: Iterable[Stretch]) -> Assembly:
        """What comes out when stretches are put one behind the other, wherever they were before."""
        found, start = [], 0
        for part in parts:
            if part.length:
                found.append(Stretch(start, part.length, part.at, part.data))
                start += part.length
        return cls(tuple(found))

    @property
    def size_bytes(self) -> int:
        return self.stretches[-1].end if self.stretches else 0

    @property
    def memory_bytes(self) -> int:
        """How much of it is not in the base."""
        return sum(len(each.data) for each in self.stretches if each.data is not None)

    def cut(self, offset: int, length: int) -> Iterator[Stretch]:
        """Where each byte of a range comes from; the range is cut at the end of the image."""
        end = min(offset + length, self.size_bytes)
        index = max(bisect_right(self.stretches, offset, key=lambda each: each.start) - 1, 0)
        for each in self.stretches[index:]:
            if each.start >= end:
                break
            yield each.cut(offset, end)

    def read(self, pread: Pread, offset: int, length: int) -> bytes:
        """A byte range of the image, given a way to read the base."""
        parts = (
            pread(each.at, each.length) if each.data is None else each.data
            for each in self.cut(offset, length)
        )
        return b"".join(parts)

    def under(self, overlay: Overlay) -> Assembly:
        """The image with an overlay over it."""
        if overlay.base_size != self.size_bytes:
            raise ValueError(f"an overlay for {overlay.base_size} bytes is not for {self.size_bytes}")
        return Assembly.join(self._pieces(overlay))

    def _pieces(self, overlay: Overlay) -> Iterator[Stretch]:
        for piece in overlay.pieces(0, overlay.size):
            if piece.patch is not None:
                skip = piece.offset - piece.patch.offset
                yield Stretch(0, piece.length, data=bytes(piece.patch.data[skip : skip + piece.length]))
            elif piece.from_base:
                yield from self.cut(piece.offset, piece.length)
            else:
                yield Stretch(0, piece.length, data=bytes(piece.length))

    def digest(self, base: str) -> str:
        """A hash that differs whenever the bytes can; ``base`` is that of the base."""
        found = hashlib.sha256(base.encode())
        for each in self.stretches:
            found.update(b"%d %d %d\n" % (each.length, each.at, each.data is not None))
            found.update(each.data or b"")
        return found.hexdigest()
