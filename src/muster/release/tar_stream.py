# SPDX-License-Identifier: Apache-2.0
"""Tar archives, read while they arrive and in bounded memory; nothing is unpacked to where an entry says.

The standard library reads the headers. What stands between them is read here, because `tarfile` takes as much
memory for the name of an entry as a stranger's archive asks for.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol, TypeAlias

from muster.release.oci.trouble import Damaged

_BLOCK: Final = tarfile.BLOCKSIZE
_END: Final = bytes(_BLOCK)
_LARGEST_META: Final = 1 << 20
"""Names and attributes of one entry do not take more."""
_EXTENDED: Final = (482, 504)
"""Where GNU's sparse headers say that another one follows: in the first, in those behind it."""


class Kind(Enum):
    """What an entry is."""

    FILE = "file"
    DIRECTORY = "directory"
    SYMLINK = "symbolic link"
    HARD_LINK = "hard link"
    OTHER = "device or pipe"


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry, as far as anybody here wants to know it."""

    name: str
    kind: Kind
    target: str = ""
    """Where a link leads."""
    size_bytes: int = 0
    mode: int = 0
    sparse: bool = False
    """Its content is not what it unpacks to."""


class Sink(Protocol):
    """Takes the content of a file."""

    def write(self, data: memoryview) -> None:
        """The next bytes of it."""


Begin: TypeAlias = Callable[[Entry], Sink | None]
"""Told of each entry; what it gives takes the content."""


class TarReader:
    """Takes an archive in any portions."""

    def __init__(self, shown: str, begin: Begin) -> None:
        self._shown, self._begin = shown, begin
        self._block = bytearray()
        self._sink: Sink | None = None
        self._meta: _Meta | None = None
        self._left = 0
        self._padding = 0
        self._sparse_header = False
        self._ended = False
        self._globals: dict[str, str] = {}
        self._next: dict[str, str] = {}
        """What is known of the next entry from headers before its own."""

    def feed(self, data: bytes) -> None:
        """Take more of the archive."""
        view = memoryview(data)
        while view and not self._ended:
            if self._sparse_header:
                view = self._take_block(view)
            elif self._left:
                view = self._take_content(view)
            elif self._padding:
                count = min(self._padding, len(view))
                self._padding -= count
                view = view[count:]
            else:
                view = self._take_block(view)

    def finish(self) -> None:
        """Nothing more comes."""
        if not self._ended and (self._left or self._padding or self._block or self._next):
            raise self._damaged("it ends too early")

    def _take_content(self, view: memoryview) -> memoryview:
        piece = view[: self._left]
        self._left -= len(piece)
        if self._sink is not None:
            self._sink.write(piece)
        if not self._left:
            self._sink = None
            if self._meta is not None:
                meta, self._meta = self._meta, None
                self._learn(meta)
        return view[len(piece) :]

    def _take_block(self, view: memoryview) -> memoryview:
        piece = view[: _BLOCK - len(self._block)]
        self._block += piece
        if len(self._block) == _BLOCK:
            block = bytes(self._block)
            self._block.clear()
            if self._sparse_header:
                self._sparse_header = bool(block[_EXTENDED[1]])
            else:
                self._read_header(block)
        return view[len(piece) :]

    def _read_header(self, block: bytes) -> None:
        if block == _END:
            self._ended = True
            return
        try:
            info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except (tarfile.HeaderError, ValueError, OverflowError) as error:
            raise self._damaged("it is not a tar archive, or its headers are damaged") from error
        if info.size < 0:
            raise self._damaged("an entry has a size below zero")
        if info.type in _METAS:
            self._begin_meta(info)
        else:
            self._begin_entry(info, block)

    def _begin_meta(self, info: tarfile.TarInfo) -> None:
        if info.size > _LARGEST_META:
            raise self._damaged("the name or the attributes of an entry are too long")
        self._meta = self._sink = _Meta(info.type)
        self._expect(info.size)
        if not info.size:
            self._meta = self._sink = None

    def _learn(self, meta: _Meta) -> None:
        data = bytes(meta.data)
        if meta.type == tarfile.GNUTYPE_LONGNAME:
            self._next["path"] = _text(data.partition(b"\0")[0])
        elif meta.type == tarfile.GNUTYPE_LONGLINK:
            self._next["linkpath"] = _text(data.partition(b"\0")[0])
        elif meta.type == tarfile.XGLTYPE:
            self._globals.update(self._attributes(data))
        else:
            self._next.update(self._attributes(data))

    def _attributes(self, data: bytes) -> dict[str, str]:
        """Records of a length, a name and a value each."""
        found: dict[str, str] = {}
        while data.strip(b"\0"):
            digits, space, _ = data.partition(b" ")
            length = int(digits) if digits.isdigit() and len(digits) < 10 else 0
            name, equals, value = data[len(digits) + 1 : length - 1].partition(b"=")
            if (
                not space
                or not equals
                or not len(digits) < length <= len(data)
                or data[length - 1 : length] != b"\n"
            ):
                raise self._damaged("the attributes of an entry cannot be read")
            found[_text(name)] = _text(value)
            data = data[length:]
        return found

    def _begin_entry(self, info: tarfile.TarInfo, block: bytes) -> None:
        known: Mapping[str, str] = {**self._globals, **self._next}
        self._next = {}
        size = known.get("size", "")
        if size and not (size.isascii() and size.isdigit() and len(size) < 19):
            raise self._damaged("an entry has a size that is no number")
        sparse = info.type == tarfile.GNUTYPE_SPARSE or any(name.startswith("GNU.sparse") for name in known)
        self._sparse_header = info.type == tarfile.GNUTYPE_SPARSE and bool(block[_EXTENDED[0]])
        entry = Entry(
            name=known.get("GNU.sparse.name") or known.get("path") or info.name,
            kind=_kind(info),
            target=known.get("linkpath") or info.linkname,
            size_bytes=int(size) if size else info.size,
            mode=info.mode,
            sparse=sparse,
        )
        self._sink = self._begin(entry)
        self._expect(entry.size_bytes if info.isreg() or info.type not in tarfile.SUPPORTED_TYPES else 0)
        if not self._left:
            self._sink = None

    def _expect(self, size_bytes: int) -> None:
        self._left = size_bytes
        self._padding = -size_bytes % _BLOCK

    def _damaged(self, why: str) -> Damaged:
        return Damaged(
            f"{self._shown} cannot be read: {why}",
            hint="the image is broken where it comes from; ask its publisher",
        )


_METAS: Final = (
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
    tarfile.XHDTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.XGLTYPE,
)


class _Meta:
    """What is said about the next entry, before its header."""

    def __init__(self, type: bytes) -> None:
        self.type = type
        self.data = bytearray()

    def write(self, data: memoryview) -> None:
        self.data += data


def _kind(info: tarfile.TarInfo) -> Kind:
    if info.isreg():
        return Kind.FILE
    if info.isdir():
        return Kind.DIRECTORY
    if info.issym():
        return Kind.SYMLINK
    return Kind.HARD_LINK if info.islnk() else Kind.OTHER


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
