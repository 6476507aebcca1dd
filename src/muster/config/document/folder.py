# SPDX-License-Identifier: Apache-2.0
"""Where a site's files come from: a directory, or memory, or memory over a directory."""

from __future__ import annotations

import codecs
import errno
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Protocol

from muster.frozen import dataclass
from muster.model.problem import Place, Problem, problem
from muster.model.tree import Source

MAX_BYTES: Final = 16 * 1024 * 1024
_UTF16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")
_READ_ERRORS: Final = {
    errno.ELOOP: "a symbolic link points back at itself",
    errno.EACCES: "permission denied",
    errno.ENOENT: "it is a symbolic link to a file that does not exist",
}


class TooLarge(OSError):
    """The file has more bytes than any file of a site."""

    def __init__(self, size_bytes: int) -> None:
        super().__init__()
        self.size_bytes = size_bytes


class NotAFile(OSError):
    """Something else has the file's name."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self.what = what


class Folder(Protocol):
    """What the loader needs of a place with files. Names are relative, with slashes."""

    @property
    def label(self) -> str:
        """How messages call the folder itself."""
        ...

    def names(self, sub: str = "") -> list[str]:
        """Sorted names in the folder, or in one below it."""
        ...

    def is_folder(self, name: str) -> bool:
        """Whether a name is that of a folder."""
        ...

    def read(self, name: str) -> bytes:
        """The content of a file; OSError when there is none."""
        ...


@dataclass(frozen=True)
class Directory:
    """A directory on disk."""

    path: Path

    @property
    def label(self) -> str:
        return str(self.path)

    def names(self, sub: str = "") -> list[str]:
        return sorted(entry.name for entry in (self.path / sub).iterdir())

    def is_folder(self, name: str) -> bool:
        try:
            return (self.path / name).is_dir()
        except OSError:
            return False

    def read(self, name: str) -> bytes:
        path = self.path / name
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise NotAFile("a directory" if stat.S_ISDIR(status.st_mode) else "not an ordinary file")
        if status.st_size > MAX_BYTES:
            raise TooLarge(status.st_size)
        return path.read_bytes()


@dataclass(frozen=True)
class Memory:
    """Files in memory, over those of another folder if there is one. A file that is None is gone."""

    files: Mapping[str, bytes | None]
    below: Folder | None = None

    @property
    def label(self) -> str:
        return self.below.label if self.below else "memory"

    def names(self, sub: str = "") -> list[str]:
        prefix = f"{sub}/" if sub else ""
        ours = [name for name in self.files if name.startswith(prefix)]
        if self.below is not None and (not ours or self.below.is_folder(sub)):
            found = set(self.below.names(sub))
        elif ours or not sub:
            found = set()
        else:
            raise FileNotFoundError(errno.ENOENT, sub)
        for name in ours:
            head, slash, _ = name.removeprefix(prefix).partition("/")
            if slash or self.files[name] is not None:
                found.add(head)
            else:
                found.discard(head)
        return sorted(found)

    def is_folder(self, name: str) -> bool:
        if not name or any(each.startswith(f"{name}/") for each in self.files):
            return True
        return self.below is not None and self.below.is_folder(name)

    def read(self, name: str) -> bytes:
        data = self.files.get(name)
        if data is not None:
            return data
        if self.below is None or name in self.files:
            raise FileNotFoundError(errno.ENOENT, name)
        return self.below.read(name)


def read_text(folder: Folder, name: str) -> tuple[Source | None, list[Problem]]:
    """The text of a file that is known to be there, or the reason why there is none."""
    nothing = Place(Source(name, ""))
    try:
        data = folder.read(name)
    except NotAFile as error:
        return None, [problem("not-a-file", nothing, name=name, what=error.what)]
    except TooLarge as error:
        size, limit = f"{error.size_bytes:,} bytes", f"{MAX_BYTES:,}"
        return None, [problem("file-too-large", nothing, name=name, size=size, limit=limit)]
    except OSError as error:
        reason = _READ_ERRORS.get(error.errno or 0) or (error.strerror or str(error)).lower()
        return None, [problem("unreadable-file", nothing, name=name, reason=reason)]
    return _decode(data, name)


def _decode(data: bytes, name: str) -> tuple[Source | None, list[Problem]]:
    """UTF-8 text, with or without a byte order mark."""
    nothing = Place(Source(name, ""))
    if data.startswith(_UTF16_MARKS):
        return None, [problem("not-text", nothing, name=name, what="UTF-16 text")]
    if b"\0" in data:
        return None, [problem("not-text", nothing, name=name, what="binary data")]
    try:
        return Source(name, data.decode("utf-8-sig"), marked=data.startswith(codecs.BOM_UTF8)), []
    except UnicodeDecodeError as error:
        good = Source(name, data[: error.start].decode("utf-8-sig", "replace"))
        at = Place(good, len(good.text))
        return None, [problem("not-utf8", at, byte=f"0x{data[error.start]:02x}")]
