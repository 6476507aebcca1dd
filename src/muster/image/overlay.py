# SPDX-License-Identifier: Apache-2.0
"""An image that was changed, without a copy of it: the base, and the few bytes that differ.

Any byte range of the result can be read at once, so a server serves it without a file, and a copy
writes every byte once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from muster.errors import MediaError
from muster.frozen import dataclass

Pread: TypeAlias = Callable[[int, int], bytes]
"""Reads (offset, length) of an image; short only at its end."""
Data: TypeAlias = bytes | memoryview
"""What stands in an image; large files are mapped, and not in memory."""


@dataclass(frozen=True)
class Patch:
    """Bytes that stand at an offset instead of those of the base; the name says what they are."""

    offset: int
    data: Data
    name: str

    @property
    def end(self) -> int:
        return self.offset + len(self.data)


@dataclass(frozen=True)
class Piece:
    """A range of the result: from a patch, from the base, or (neither) zeros behind the base's end."""

    offset: int
    length: int
    patch: Patch | None
    from_base: bool


@dataclass(frozen=True)
class Overlay:
    """What a base of `base_size` bytes becomes; patches are in order and do not overlap."""

    base_size: int
    size: int
    patches: tuple[Patch, ...] = ()

    def __post_init__(self) -> None:
        end = 0
        for patch in self.patches:
            if patch.offset < end or patch.end > self.size:
                raise MediaError(
                    f"{patch.name} at byte {patch.offset} overlaps something else or the end of the image",
                    hint="get the image again and compare its checksum",
                )
            end = patch.end

    @classmethod
    def of(cls, base_size: int, patches: Iterable[Patch], *, size: int | None = None) -> Overlay:
        """From patches in any order; empty ones are dropped."""
        kept = sorted((patch for patch in patches if patch.data), key=lambda patch: patch.offset)
        return cls(base_size, base_size if size is None else size, tuple(kept))

    def pieces(self, offset: int, length: int) -> Iterator[Piece]:
        """Where each byte of a range comes from; the range is cut at the end of the image."""
        end = min(offset + length, self.size)
        index = max(bisect_right(self.patches, offset, key=lambda patch: patch.offset) - 1, 0)
        for patch in self.patches[index:]:
            if patch.end <= offset:
                continue
            if patch.offset >= end:
                break
            yield from self._plain(offset, patch.offset)
            start = max(offset, patch.offset)
            offset = min(patch.end, end)
            yield Piece(start, offset - start, patch, from_base=False)
        yield from self._plain(offset, end)

    def _plain(self, start: int, end: int) -> Iterator[Piece]:
        border = min(max(start, self.base_size), end)
        if start < border:
            yield Piece(start, border - start, None, from_base=True)
        if border < end:
            yield Piece(max(start, border), end - max(start, border), None, from_base=False)

    def read(self, pread: Pread, offset: int, length: int) -> bytes:
        """A byte range of the result, given a way to read the base."""
        parts: list[bytes] = []
        for piece in self.pieces(offset, length):
            if piece.patch is not None:
                start = piece.offset - piece.patch.offset
                parts.append(bytes(piece.patch.data[start : start + piece.length]))
            elif piece.from_base:
                parts.append(pread(piece.offset, piece.length))
            else:
                parts.append(bytes(piece.length))
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def find_patch(self, offset: int) -> Patch | None:
        """The patch a byte belongs to."""
        index = bisect_right(self.patches, offset, key=lambda patch: patch.offset) - 1
        if index >= 0 and offset < self.patches[index].end:
            return self.patches[index]
        return None

    def name_at(self, offset: int) -> str | None:
        """What a byte of the result belongs to; None for the base."""
        patch = self.find_patch(offset)
        return patch.name if patch else None

    def then(self, later: Overlay) -> Overlay:
        """One overlay for two that are applied one after the other."""
        if later.base_size != self.size:
            raise ValueError(f"an overlay of {later.base_size} bytes cannot follow one of {self.size}")
        kept = [part for patch in self.patches for part in _without(patch, later)]
        # Bytes that the first cut off are gone, even where the second makes the image longer again.
        gone = Patch(self.size, bytes(max(min(self.base_size, later.size) - self.size, 0)), "padding")
        kept += _without(gone, Overlay(later.base_size, max(later.size, gone.end), later.patches))
        return Overlay.of(self.base_size, [*kept, *later.patches], size=later.size)


def _without(patch: Patch, later: Overlay) -> Iterator[Patch]:
    """The parts of a patch that a later overlay leaves visible."""
    for piece in later.pieces(patch.offset, len(patch.data)):
        if piece.patch is None:
            start = piece.offset - patch.offset
            yield Patch(piece.offset, patch.data[start : start + piece.length], patch.name)
