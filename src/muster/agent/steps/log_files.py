# SPDX-License-Identifier: Apache-2.0
"""The files of an archive of logs: taken from the host as far as they are no secrets, and packed."""

from __future__ import annotations

import os
import stat
import tarfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from muster import __version__
from muster.agent.steps.log_secrets import is_secret_path, is_secret_text
from muster.errors import cannot
from muster.frozen import dataclass
from muster.model.wire.steps import LogsGatherCmdRequest
from muster.redact import printable

Clean = Callable[[str, Sequence[str]], str]
"""Takes secrets out of a text, besides those that are known word by word."""

PIECE_BYTES: Final = 256 << 10
"""As much as is searched at once, so that others in this process get their turn."""
_FILE_BYTES: Final = 8 << 20
_FOLDER_BYTES: Final = 64 << 20
_PRIVATE: Final = 0o600


@dataclass(frozen=True)
class Kept:
    """What came of collecting something."""

    missed: tuple[tuple[str, str], ...] = ()
    """What is not there, or not as a whole, and why."""
    left_out: tuple[str, ...] = ()
    """What may hold secrets."""


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

    def keep(self, name: str, is_late: Callable[[], bool]) -> Kept:
        """Take the files of a folder, as far as there is time and room."""
        paths = _find_files(self.source / name)
        missed = [] if paths is not None else [(name, "it is not there")]
        left_out: list[str] = []
        room = _FOLDER_BYTES
        for path in paths or ():
            shown = path.relative_to(self.source).as_posix()
            if is_late() or room <= 0:
                missed.append((name, "there was no time or no room for all of it"))
                break
            try:
                room -= self._keep_file(path, shown)
            except _Secret:
                left_out.append(shown)
            except (_NotTaken, OSError) as error:
                missed.append((shown, reason_of(error)))
        return Kept(tuple(missed), tuple(left_out))

    def _keep_file(self, path: Path, shown: str) -> int:
        if is_secret_path(PurePosixPath(shown)):
            raise _Secret
        text = _load_end(path)
        if is_secret_text(text):
            raise _Secret
        write_pieces(self.target / shown, (self.clean(text),))
        return len(text)


def _find_files(folder: Path) -> list[Path] | None:
    """All that is below a folder; None when there is none. Links are not followed."""
    if not folder.is_dir():
        return None
    return sorted(path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())


def _load_end(path: Path) -> str:
    """The end of a text; a device or a pipe that somebody put there is not opened."""
    if not stat.S_ISREG(path.lstat().st_mode):
        raise _NotTaken("it is not a plain file")
    with path.open("rb") as file:
        if file.seek(0, os.SEEK_END) > _FILE_BYTES:
            file.seek(-_FILE_BYTES, os.SEEK_END)
            file.readline()  # It is not whole.
        else:
            file.seek(0)
        data = file.read(_FILE_BYTES)
    if b"\0" in data:
        raise _NotTaken("it is not text")
    return data.decode(errors="replace")


def load_pieces(path: Path, *, is_cut: bool) -> Iterator[str]:
    """The lines of a long text, some at a time; when it was cut off, without the first."""
    with path.open("rb") as file:
        if is_cut:
            file.readline()
        while lines := file.readlines(PIECE_BYTES):
            yield b"".join(lines).decode(errors="replace")


def write_pieces(path: Path, pieces: Iterable[str]) -> None:
    """Write a text that only its owner may read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _PRIVATE)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.writelines(pieces)


def pack(folder: Path, archive: Path) -> Path:
    """Make an archive of a folder's files; it is there as a whole, or not at all."""
    part = archive.with_name(f".{archive.name}.part")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _PRIVATE)
        with (
            os.fdopen(descriptor, "wb") as file,
            tarfile.open(fileobj=file, mode="w:gz", compresslevel=6) as tar,
        ):
            for path in sorted(each for each in folder.rglob("*") if each.is_file()):
                tar.add(path, f"logs/{path.relative_to(folder)}", recursive=False, filter=_anonymous)
        return part.replace(archive)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise cannot("write", archive, error) from error


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def render_report(request: LogsGatherCmdRequest, kept: Iterable[Kept]) -> str:
    """What is not in the archive, for whoever looks for it there."""
    kept = tuple(kept)
    missed = [f"  {name}: {why}" for each in kept for name, why in each.missed]
    left_out = [f"  {name}" for each in kept for name in each.left_out]
    lines = [f"Logs of host {request.host_id} in cluster {request.cluster_id}, by Muster {__version__}"]
    lines += ["", "Not there, or not as a whole:", *missed] if missed else ["", "Nothing is missing."]
    if left_out:
        lines += ["", "Left out, because secrets may be in it:", *left_out]
    return printable("\n".join(lines)) + "\n"


def reason_of(error: Exception) -> str:
    """Why something could not be read or written."""
    return (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)
