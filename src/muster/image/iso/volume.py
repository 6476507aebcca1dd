# SPDX-License-Identifier: Apache-2.0
"""An ISO 9660 volume in a file: its label, its size, and where its files stand.

Nothing is read but what is asked for, and nothing in a volume is believed: every offset and length
is compared with the size of the file before it is used.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from muster.errors import MediaError, cannot
from muster.frozen import dataclass
from muster.image.iso.records import (
    CONTINUES,
    DAMAGED,
    SECTOR,
    Record,
    find_rock_ridge_name,
    find_skip,
    parse_record,
    parse_records,
    plain_name,
)
from muster.image.overlay import Overlay, Pread

DESCRIPTORS_AT = 16 * SECTOR

_PRIMARY, _SUPPLEMENTARY, _END = 1, 2, 255
_JOLIET = (b"%/@", b"%/C", b"%/E")
_MAX_DESCRIPTORS = 64
_MAX_DIRECTORY_BYTES = 16 << 20
_MAX_DIRECTORIES = 1_000_000
_MAX_DEPTH = 64
_MAX_CONTINUATION = 1 << 16


@dataclass(frozen=True)
class Extent:
    """A file or directory: its path, its bytes, and the byte offset of its directory record."""

    path: str
    offset: int
    length: int
    record: int
    sections: int = 1
    is_directory: bool = False

    @property
    def end(self) -> int:
        return self.offset + self.length


@dataclass(frozen=True)
class Tree:
    """One of the directory trees of an image: that of the primary descriptor, of Joliet, of a partition."""

    descriptor: int
    origin: int
    space_bytes: int
    label: str
    root: Record
    is_primary: bool
    joliet: bool
    skip: int | None


class Volume:
    """The volume in a file, or in anything else that can be read by offset."""

    def __init__(
        self, name: str, pread: Pread, file_size: int, close: Callable[[], None] | None = None
    ) -> None:
        self.name = name
        self.file_size = file_size
        self._pread = pread
        self._close = close
        self.trees = self.find_trees(0)
        primary = next((tree for tree in self.trees if tree.is_primary), None)
        if primary is None:
            raise MediaError(f"{name} has no primary volume descriptor", hint=DAMAGED)
        self.primary = primary
        self.label = primary.label
        self.size_bytes = primary.space_bytes
        self.descriptors_end = max(tree.descriptor for tree in self.trees) + 2 * SECTOR
        if self.size_bytes > file_size:
            raise MediaError(
                f"{name} is incomplete: it has {file_size} bytes of {self.size_bytes}",
                hint="download or copy the image again",
            )

    @classmethod
    def open(cls, path: Path) -> Volume:
        """Open the image in a file or on a device; to be used with `with`."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            raise cannot("read", path, error) from error

        def pread(offset: int, length: int) -> bytes:
            return _pread_fully(descriptor, path, offset, length)

        try:
            size = os.lseek(descriptor, 0, os.SEEK_END)
            return cls(str(path), pread, size, lambda: os.close(descriptor))
        except OSError as error:
            os.close(descriptor)
            raise cannot("read", path, error) from error
        except BaseException:
            os.close(descriptor)
            raise

    def view(self, overlay: Overlay) -> Volume:
        """The volume as it is with an overlay applied; valid as long as this one is open."""
        pread = self._pread
        return Volume(self.name, lambda at, length: overlay.read(pread, at, length), overlay.size)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._close is not None:
            self._close()
            self._close = None

    def read(self, offset: int, length: int) -> bytes:
        """Exactly that many bytes."""
        if offset < 0 or length < 0 or offset + length > self.file_size:
            raise MediaError(
                f"{self.name} has {self.file_size} bytes, but refers to {length} bytes at {offset}",
                hint=DAMAGED,
            )
        data = self._pread(offset, length)
        if len(data) != length:
            raise MediaError(f"{self.name} became shorter while it was read", hint="try again")
        return data

    def load(self, extent: Extent, *, limit: int) -> bytes:
        """A whole file of the volume."""
        if extent.length > limit:
            raise MediaError(
                f"{extent.path} in {self.name} has {extent.length} bytes; {limit} are expected at most",
                hint=DAMAGED,
            )
        return self.read(extent.offset, extent.length)

    def find(self, path: str) -> Extent | None:
        """A file by its path, whether written as in Rock Ridge or as the 8.3 names of ISO 9660."""
        return self._find(path, want_directory=False)

    def find_folder(self, path: str) -> Extent | None:
        """A folder by its path."""
        return self._find(path, want_directory=True)

    def _find(self, path: str, *, want_directory: bool) -> Extent | None:
        record = self.primary.root
        *folders, name = [part for part in path.split("/") if part]
        for folder in folders:
            found = self._find_in(record, folder, want_directory=True)
            if found is None:
                return None
            record = found[0]
        last = self._find_in(record, name, want_directory=want_directory)
        return self._extent(self.primary, path, last) if last else None

    def walk(self, tree: Tree | None = None) -> Iterator[Extent]:
        """Every file of a tree (the primary one unless told), in the order of its directories."""
        return (entry for entry in self.entries(tree) if not entry.is_directory)

    def entries(self, tree: Tree | None = None) -> Iterator[Extent]:
        """Every directory, the root included, with the bytes that hold its records, and every file."""
        wanted = tree or self.primary
        yield self._extent(wanted, "/", [wanted.root])
        for path, sections in self._walk(wanted):
            yield self._extent(wanted, path, sections)

    def find_trees(self, origin: int) -> tuple[Tree, ...]:
        """The directory trees of the volume that starts at a byte; none if there is no volume."""
        trees: list[Tree] = []
        for number in range(_MAX_DESCRIPTORS):
            at = origin + DESCRIPTORS_AT + number * SECTOR
            block = self.read(at, SECTOR) if at + SECTOR <= self.file_size else b""
            if block[1:6] != b"CD001":
                if number:
                    raise MediaError(f"the volume descriptors of {self.name} have no end", hint=DAMAGED)
                if origin:
                    return ()
                head = self._pread(0, min(16, self.file_size))
                raise MediaError(
                    f"{self.name} is not an ISO 9660 image; it begins with {head!r}",
                    hint="name a live ISO of the operating system; a URL may lead to a login page",
                )
            if block[0] == _END:
                return tuple(trees)
            if block[0] in (_PRIMARY, _SUPPLEMENTARY):
                trees.append(self._parse_tree(block, at, origin))
        raise MediaError(f"{self.name} has more than {_MAX_DESCRIPTORS} volume descriptors", hint=DAMAGED)

    def _parse_tree(self, block: bytes, at: int, origin: int) -> Tree:
        blocks, block_size = struct.unpack_from("<I44xH", block, 80)
        if block_size != SECTOR:
            raise MediaError(
                f"{self.name} has blocks of {block_size} bytes; {SECTOR} are expected", hint=DAMAGED
            )
        joliet = block[0] == _SUPPLEMENTARY and block[88:91] in _JOLIET
        encoding = "utf-16-be" if joliet else "latin-1"
        root = parse_record(block[156:190], 0, at + 156)
        if not root.is_directory:
            raise MediaError(f"the root directory of {self.name} is not a directory", hint=DAMAGED)
        first = next(parse_records(self.read(origin + root.lba * SECTOR, SECTOR), 0), None)
        return Tree(
            descriptor=at,
            origin=origin,
            space_bytes=blocks * SECTOR,
            label=block[40:72].decode(encoding, "replace").rstrip(" \0"),
            root=root,
            is_primary=block[0] == _PRIMARY,
            joliet=joliet,
            skip=find_skip(first) if first and first.name == b"\0" else None,
        )

    def _records(self, tree: Tree, directory: Record) -> Iterator[list[Record]]:
        """The entries of a directory; a file of 4 GiB or more has several records."""
        at = tree.origin + directory.lba * SECTOR
        if directory.length > _MAX_DIRECTORY_BYTES:
            raise MediaError(f"{self.name} has a directory of {directory.length} bytes", hint=DAMAGED)
        sections: list[Record] = []
        for record in parse_records(self.read(at, directory.length), at):
            if record.is_self_or_parent:
                continue
            if sections and sections[0].name != record.name:
                raise MediaError(f"the directory record at byte {record.at} is out of place", hint=DAMAGED)
            sections.append(record)
            if not record.flags & CONTINUES:
                yield sections
                sections = []

    def _names(self, tree: Tree, record: Record) -> tuple[str | None, str]:
        """The Rock Ridge name, if there is one, and the plain name."""

        def more(lba: int, offset: int, length: int) -> bytes:
            if length > _MAX_CONTINUATION:
                raise MediaError(f"a directory record continues for {length} bytes", hint=DAMAGED)
            return self.read(tree.origin + lba * SECTOR + offset, length)

        long = None if tree.skip is None else find_rock_ridge_name(record.extra[tree.skip :], more)
        return long, plain_name(record.name, joliet=tree.joliet)

    def _find_in(self, directory: Record, name: str, *, want_directory: bool) -> list[Record] | None:
        """The entry whose name fits best: as written, in another case, or cut to 8.3."""
        best: tuple[int, list[Record]] | None = None
        for sections in self._records(self.primary, directory):
            if sections[0].is_directory != want_directory:
                continue
            rank = _rank(name, *self._names(self.primary, sections[0]))
            if rank is not None and (best is None or rank < best[0]):
                best = rank, sections
        return best[1] if best else None

    def _walk(self, tree: Tree) -> Iterator[tuple[str, list[Record]]]:
        seen = {tree.root.lba}
        stack = [("", tree.root, 0)]
        while stack:
            path, directory, depth = stack.pop()
            for sections in self._records(tree, directory):
                long, plain = self._names(tree, sections[0])
                child = f"{path}{long or plain}"
                yield child, sections
                if not sections[0].is_directory:
                    continue
                if sections[0].lba in seen or depth >= _MAX_DEPTH or len(seen) >= _MAX_DIRECTORIES:
                    raise MediaError(
                        f"the directories of {self.name} go in circles or are too many at {child}",
                        hint=DAMAGED,
                    )
                seen.add(sections[0].lba)
                stack.append((f"{child}/", sections[0], depth + 1))

    def _extent(self, tree: Tree, path: str, sections: list[Record]) -> Extent:
        first = sections[0]
        offset = tree.origin + first.lba * SECTOR
        length = 0
        for section in sections:
            if length and tree.origin + section.lba * SECTOR != offset + length:
                raise MediaError(f"{path} in {self.name} is stored in scattered pieces", hint=DAMAGED)
            length += section.length
        if length and offset + length > self.file_size:
            raise MediaError(
                f"{path} would end at byte {offset + length} of {self.name}, which has {self.file_size}",
                hint=DAMAGED,
            )
        return Extent(path, offset, length, first.at, len(sections), first.is_directory)


def check_volume(path: Path, shown: str) -> None:
    """Refuse what is no ISO, or not all of one, under the name that it is known by."""
    try:
        with Volume.open(path):
            pass
    except MediaError as error:
        raise MediaError(error.message.replace(str(path), shown), hint=error.hint) from error


def _rank(wanted: str, long: str | None, plain: str) -> int | None:
    """How well a name fits; 0 is best."""
    if wanted in (long, plain):
        return 0
    folded = wanted.upper()
    if folded in ((long or "").upper(), plain.upper()):
        return 1
    stem, _, suffix = folded.rpartition(".")
    short = f"{stem[:8]}.{suffix[:3]}" if stem else folded[:8]
    # A long name that differs is another file, whatever its 8.3 name is.
    return 2 if long is None and short == plain.upper() else None


def _pread_fully(descriptor: int, path: Path, offset: int, length: int) -> bytes:
    parts: list[bytes] = []
    while length > 0:
        try:
            part = os.pread(descriptor, length, offset)
        except OSError as error:
            raise cannot("read", path, error) from error
        if not part:
            break
        parts.append(part)
        offset += len(part)
        length -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)
