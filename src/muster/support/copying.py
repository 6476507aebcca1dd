# SPDX-License-Identifier: Apache-2.0
"""Files of a host that go into a bundle, as far as they are text and no secrets."""

from __future__ import annotations

import stat
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from typing import Final, TypeAlias

from muster.frozen import dataclass
from muster.support.finding import find_files
from muster.support.room import Kept, Room, reason_of, write_pieces
from muster.support.secrets import is_secret_path, is_secret_text

Clean: TypeAlias = Callable[[str, Sequence[str]], str]
"""Takes secrets out of a text, besides those that are known word by word."""
FILE_BYTES: Final = 8 << 20
FOLDER_BYTES: Final = 32 << 20


class _NotTaken(Exception):
    """A file is not taken; the text says why."""


class _Secret(Exception):
    """A file may hold secrets."""


@dataclass(frozen=True)
class FolderCopy:
    """Plain files that are taken from one place to another, by their names below both."""

    source: Path
    target: Path
    clean: Callable[[str], str]
    room: Room
    file_bytes: int = FILE_BYTES
    """Of a longer file the end is taken."""
    folder_bytes: int = FOLDER_BYTES

    def keep(self, name: str, is_late: Callable[[], bool]) -> Kept:
        """Take a file, or the files of a folder, as far as there is time and room."""
        paths = find_files(self.source / name)
        missed = [] if paths is not None else [(name, "it is not there")]
        left_out: list[str] = []
        room = self.folder_bytes
        for path in paths or ():
            shown = path.relative_to(self.source).as_posix()
            if is_late() or room <= 0 or self.room.is_full:
                missed.append((name, "there was no time or no room for all of it"))
                break
            try:
                size, cut = self._keep_file(path, shown)
                room -= size
                missed += [(shown, cut)] if cut else []
            except _Secret:
                left_out.append(shown)
            except (_NotTaken, OSError) as error:
                missed.append((shown, reason_of(error)))
        return Kept(tuple(missed), tuple(left_out))

    def _keep_file(self, path: Path, shown: str) -> tuple[int, str]:
        """Its size, and what is missing of it."""
        if is_secret_path(PurePosixPath(shown)):
            raise _Secret
        text, is_cut = load_end(path, self.file_bytes)
        if is_secret_text(text):
            raise _Secret
        cut = f"only its last {self.file_bytes >> 10} KiB are here" if is_cut else ""
        is_whole = write_pieces(self.target / shown, (self.clean(text),), self.room)
        return len(text), cut if is_whole else "there was no room for it"


def load_end(path: Path, most: int) -> tuple[str, bool]:
    """The end of a text, and whether more came before; a device or a pipe is not opened."""
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode):
        raise _NotTaken("it is not a plain file")
    is_cut = status.st_size > most
    with path.open("rb") as file:
        if is_cut:
            file.seek(status.st_size - most)
            file.readline()  # It is not whole.
        data = file.read(most)
    if b"\0" in data:
        raise _NotTaken("it is not text")
    return data.decode(errors="replace"), is_cut
