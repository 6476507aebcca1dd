# SPDX-License-Identifier: Apache-2.0
"""Archives for the initial RAM disk: cpio in the "newc" format, the only one the kernel unpacks."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator

from muster.errors import MediaError
from muster.frozen import dataclass
from muster.image.compression import decompress, is_compressed

DEFAULT_LIMIT = 256 << 20

_MAGICS = (b"070701", b"070702")
_HEADER_SIZE = 110
_TRAILER = "TRAILER!!!"
_PLAIN_DIRECTORY = stat.S_IFDIR | 0o755
_MAX_NAME = 4096
_MAX_ARCHIVES = 1000
_HINT = "reset the image, or get it again"


@dataclass(frozen=True)
class Member:
    """A file of an archive; the mode holds its type, too."""

    path: str
    data: bytes
    mode: int = stat.S_IFREG | 0o600


def render_archive(members: Iterable[Member]) -> bytes:
    """An archive that is the same for the same members: sorted, parents first, no times and owners."""
    found: dict[str, Member] = {}
    for member in members:
        _check_path(member.path)
        if member.path in found:
            raise MediaError(
                f"{member.path} is twice in the archive", hint="give each file a name of its own"
            )
        found[member.path] = member
    for path in tuple(found):
        for parent in _parents(path):
            holder = found.setdefault(parent, Member(parent, b"", _PLAIN_DIRECTORY))
            if not stat.S_ISDIR(holder.mode):
                raise MediaError(
                    f"{parent} is a file, and a folder of {path}, too", hint="rename one of the two"
                )
    ordered = sorted(found.values(), key=lambda member: member.path.split("/"))
    return b"".join(_render(member) for member in [*ordered, Member(_TRAILER, b"", 0)])


def is_plain_directory(member: Member) -> bool:
    """Whether a member is only there to hold others."""
    return member.mode == _PLAIN_DIRECTORY


def parse_archives(data: bytes, what: str, *, limit: int = DEFAULT_LIMIT) -> tuple[Member, ...]:
    """The members of concatenated archives, packed or not, zeros between them; the last of a name wins."""
    found: dict[str, Member] = {}
    for _ in range(_MAX_ARCHIVES):
        data = data.lstrip(b"\0")
        if not data:
            return tuple(found.values())
        packed = is_compressed(data)
        archive, behind = decompress(data, limit=limit, what=what) if packed else (data, b"")
        members, end = _parse(archive, what)
        found.update((member.path, member) for member in members)
        if packed and archive[end:].strip(b"\0"):
            raise MediaError(f"{what} has garbage behind a packed archive", hint=_HINT)
        limit -= len(archive) if packed else 0
        data = behind if packed else data[end:]
    raise MediaError(f"{what} holds more than {_MAX_ARCHIVES} archives", hint=_HINT)


def _check_path(path: str) -> None:
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts) or "\0" in path or path == _TRAILER:
        raise MediaError(f"{path!r} is not a path for an archive", hint='use a relative path without ".."')


def _parents(path: str) -> Iterator[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _render(member: Member) -> bytes:
    name = member.path.encode("utf-8", "surrogateescape") + b"\0"
    fields = (0, member.mode, 0, 0, 1, 0, len(member.data), 0, 0, 0, 0, len(name), 0)
    header = _MAGICS[0] + b"".join(b"%08x" % field for field in fields) + name
    return header + bytes(-len(header) % 4) + member.data + bytes(-len(member.data) % 4)


def _parse(data: bytes, what: str) -> tuple[list[Member], int]:
    """The members of one archive, and the position behind its trailer."""
    members: list[Member] = []
    position = 0
    while True:
        header = data[position : position + _HEADER_SIZE]
        if len(header) < _HEADER_SIZE or header[:6] not in _MAGICS:
            raise MediaError(f"{what} holds something that is not a cpio archive", hint=_HINT)
        mode, size, name_size = (_hex(header, index, what) for index in (1, 6, 11))
        name_at = position + _HEADER_SIZE
        data_at = _align(name_at + name_size)
        if not 0 < name_size <= _MAX_NAME or data_at + size > len(data):
            raise MediaError(f"{what} holds an archive that ends in the middle", hint=_HINT)
        # Some tools pad names with more than one NUL.
        name = data[name_at : name_at + name_size].split(b"\0")[0].decode("utf-8", "surrogateescape")
        position = _align(data_at + size)
        if name == _TRAILER:
            return members, position
        members.append(Member(name, data[data_at : data_at + size], mode))


def _hex(header: bytes, index: int, what: str) -> int:
    digits = header[6 + 8 * index : 14 + 8 * index]
    try:
        return int(digits, 16) if digits.isalnum() else int("", 16)
    except ValueError as error:
        raise MediaError(f"{what} holds an archive with a broken header", hint=_HINT) from error


def _align(position: int) -> int:
    return (position + 3) & ~3
