# SPDX-License-Identifier: Apache-2.0
"""The table of contents of a tar archive that nobody vouches for.

The standard library reads headers of any length into memory and unpacks sparse files to any size. Here every
length has a limit, names stay inside, and what no archive of images has (devices, pipes, sparse files) is
refused. Only headers are read; the content stays where it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from muster.errors import MediaError
from muster.redact import printable

Pread: TypeAlias = Callable[[int, int], bytes]
"""Reads so many bytes, or up to the end, from an offset."""

_BLOCK: Final = 512
_LARGEST_HEADER: Final = 1 << 20
_LONGEST_NAME: Final = 4096
_MOST_MEMBERS: Final = 1_000_000
_RECORD: Final = re.compile(rb"([1-9][0-9]{0,7}) ([^=]+)=")
_OCTAL: Final = re.compile(rb" *([0-7]*)[ \0]*")
_EXTENDED, _GLOBAL, _LONG_NAME, _LONG_LINK = b"x", b"g", b"L", b"K"
_FILES: Final = (b"0", b"\0", b"7")
_LINKS: Final = (b"1", b"2")
_SYMBOLIC: Final = b"2"
_FOLDER: Final = b"5"
_REFUSED: Final = {b"3": "a device", b"4": "a device", b"6": "a pipe", b"S": "a sparse file"}


class Kind(StrEnum):
    FILE = "file"
    FOLDER = "folder"
    LINK = "link"


@dataclass(frozen=True, slots=True)
class Member:
    """One entry of an archive."""

    name: str
    kind: Kind
    offset: int
    size_bytes: int
    target: str = ""
    """What a link points at, from the top of the archive."""


def read_members(pread: Pread, size_bytes: int, origin: str) -> Iterator[Member]:
    """All entries, in their order; an error names the one that is refused."""
    return _Tape(pread, size_bytes, origin).members()


class _Tape:
    """An archive, and how far it was read."""

    def __init__(self, pread: Pread, size_bytes: int, origin: str) -> None:
        self._pread, self._size_bytes, self._origin = pread, size_bytes, origin
        self._offset = 0

    def members(self) -> Iterator[Member]:
        more: dict[str, bytes] = {}
        count = 0
        while (header := self._header()) is not None:
            kind, size = header[156:157], self._number(header[124:136])
            if kind in (_EXTENDED, _GLOBAL, _LONG_NAME, _LONG_LINK):
                found = self._extension(kind, self._take(size))
                more |= found if kind != _GLOBAL else {}
                continue
            yield self._member(header, kind, size, more)
            more = {}
            count += 1
            if count > _MOST_MEMBERS:
                raise self._refuse(f"it has more than {_MOST_MEMBERS} entries")

    def _header(self) -> bytes | None:
        """The next header; None at the end."""
        header = self._pread(self._offset, _BLOCK)
        if not header and self._offset:
            return None
        if len(header) < _BLOCK or not _is_header(header):
            if len(header) == _BLOCK and not any(header):
                return None
            if not self._offset:
                raise MediaError(
                    f"{self._origin} is not a tar archive", hint="name an archive, or a folder, of images"
                )
            raise self._refuse("its next header is damaged, or it ends too early")
        self._offset += _BLOCK
        return header

    def _member(self, header: bytes, kind: bytes, size: int, more: dict[str, bytes]) -> Member:
        name = self._name(more.get("path") or _ustar_name(header))
        if kind in _REFUSED or any(key.startswith("GNU.sparse") for key in more):
            raise self._refuse(f"{printable(name)} is {_REFUSED.get(kind, 'a sparse file')}")
        if kind in _LINKS:
            link = more.get("linkpath") or header[157:257].partition(b"\0")[0]
            folder = name.rpartition("/")[0] if kind == _SYMBOLIC else ""
            return Member(name, Kind.LINK, 0, 0, self._inside(name, folder, _text(link)))
        if kind == _FOLDER:
            return Member(name, Kind.FOLDER, 0, 0)
        if kind not in _FILES:
            raise self._refuse(f"{printable(name)} is of an unknown kind {kind!r}")
        if "size" in more:
            size = self._number(more["size"], base=10)
        offset = self._offset
        if offset + size > self._size_bytes:
            raise self._refuse(
                f"{printable(name)} says that it has {size} bytes, and {self._size_bytes - offset} are left"
            )
        self._offset += size + -size % _BLOCK
        return Member(name, Kind.FILE, offset, size)

    def _take(self, size: int) -> bytes:
        """What an extended header holds."""
        if size > _LARGEST_HEADER:
            raise self._refuse(f"it has a header of {size} bytes")
        data = self._pread(self._offset, size)
        if len(data) < size:
            raise self._refuse("it ends too early")
        self._offset += size + -size % _BLOCK
        return data

    def _extension(self, kind: bytes, data: bytes) -> dict[str, bytes]:
        if kind == _LONG_NAME:
            return {"path": data.rstrip(b"\0")}
        if kind == _LONG_LINK:
            return {"linkpath": data.rstrip(b"\0")}
        found: dict[str, bytes] = {}
        while data:
            match = _RECORD.match(data)
            length = int(match[1]) if match else 0
            if match is None or length <= match.end() or data[length - 1 : length] != b"\n":
                raise self._refuse("it has a damaged extended header")
            found[_text(match[2])] = data[match.end() : length - 1]
            data = data[length:]
        return found

    def _number(self, field: bytes, base: int = 8) -> int:
        if base == 8 and field[:1] == b"\x80":
            return int.from_bytes(field[1:], "big")
        if base == 8:
            match = _OCTAL.fullmatch(field)
            if match is not None:
                return int(match[1] or b"0", 8)
        elif field.isdigit() and len(field) < 20:
            return int(field)
        raise self._refuse(f"it has the size {field[:20]!r}")

    def _name(self, raw: bytes) -> str:
        """The path of an entry inside of the archive."""
        name = _text(raw)
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if name.startswith("/") or ".." in parts or "\0" in name or len(name) > _LONGEST_NAME:
            raise self._refuse(f"the name {printable(name[:200])} leads out of it")
        return "/".join(parts)

    def _inside(self, name: str, folder: str, link: str) -> str:
        """What a link points at."""
        parts = folder.split("/") if folder else []
        for part in link.split("/"):
            if part == "..":
                if not parts:
                    raise self._refuse(f"the link {printable(name)} leads out of it")
                parts.pop()
            elif part not in ("", "."):
                parts.append(part)
        if link.startswith("/") or "\0" in link or len(link) > _LONGEST_NAME:
            raise self._refuse(f"the link {printable(name)} leads out of it")
        return "/".join(parts)

    def _refuse(self, why: str) -> MediaError:
        return MediaError(
            f"the archive {self._origin} is refused at byte {self._offset}: {why}",
            hint="get another copy of it from whom you trust",
        )


def _is_header(header: bytes) -> bool:
    """Whether the checksum is right; some old programs added up signed bytes."""
    match = _OCTAL.fullmatch(header[148:156])
    if match is None or not match[1]:
        return False
    rest = header[:148] + b" " * 8 + header[156:]
    signed = sum(byte - 256 if byte > 127 else byte for byte in rest)
    return int(match[1], 8) in (sum(rest), signed)


def _ustar_name(header: bytes) -> bytes:
    name, prefix = header[:100].partition(b"\0")[0], header[345:500].partition(b"\0")[0]
    return prefix + b"/" + name if header[257:263] == b"ustar\0" and prefix else name


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
