# SPDX-License-Identifier: Apache-2.0
"""What the layers of an image make together: which file a path leads to, and in which layer it is.

Pure: it looks at the names of layers that were read, and asks for the next one only when it has to know.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

from muster.errors import UserError
from muster.frozen import dataclass
from muster.release.oci.trouble import Damaged
from muster.release.tar_stream import Entry, Kind

_WHITEOUT: Final = ".wh."
_OPAQUE: Final = ".wh..wh..opq"
_MOST_HOPS: Final = 40
"""As many links as Linux follows."""
_MOST_ENTRIES: Final = 2_000_000
_DIRECTORY: Final = Entry("", Kind.DIRECTORY)


class NextLayer(Exception):
    """The layers that are known do not tell; the one below them may."""


@dataclass(frozen=True)
class Place:
    """Where the content of a file is."""

    layer: int
    """Counted from the top."""
    path: str
    """Its name in the layer; not that of the entry, which may be written in other ways."""
    entry: Entry


class Layer:
    """The names in one layer."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._folders: set[str] = set()
        """Those that are there because something is in them."""
        self._removed: set[str] = set()
        self._opaque: set[str] = set()

    def add(self, entry: Entry, shown: str) -> str:
        """Take an entry in; the name that it has in the tree, empty when it has none."""
        name = clean(entry.name)
        if name is None:
            return ""
        if len(self._entries) + len(self._removed) >= _MOST_ENTRIES:
            raise Damaged(
                f"{shown} has more than {_MOST_ENTRIES} files",
                hint="check that it is the image that was meant",
            )
        folder, _, last = name.rpartition("/")
        if last == _OPAQUE:
            self._opaque.add(folder)
        elif last.startswith(_WHITEOUT):
            self._removed.add(f"{folder}/{last.removeprefix(_WHITEOUT)}".lstrip("/"))
        else:
            self._entries[name] = entry
            self._add_folders(folder)
            return name
        self._add_folders(folder)
        return ""

    def _add_folders(self, folder: str) -> None:
        while folder and folder not in self._folders:
            self._folders.add(folder)
            folder = folder.rpartition("/")[0]

    def find(self, path: str) -> Entry | None:
        """What this layer has at a path."""
        return self._entries.get(path) or (_DIRECTORY if path in self._folders or not path else None)

    def hides(self, path: str) -> bool:
        """Whether nothing of the layers below is seen at a path."""
        if path in self._removed:
            return True
        while path:
            path = path.rpartition("/")[0]
            entry = self._entries.get(path)
            if path in self._removed or path in self._opaque or (entry and entry.kind is not Kind.DIRECTORY):
                return True
        return False


def resolve(layers: Sequence[Layer], total: int, path: str) -> Place | None:
    """Where the file is that a path leads to, over links; None when there is nothing.

    ``layers`` are those that are known, from the top, of ``total``. Links never lead out of the image.
    """
    done = ""
    found: Place | None = None
    todo = deque(path.split("/"))
    hops = 0
    while todo:
        part = todo.popleft()
        if part in ("", "."):
            continue
        if part == "..":
            done = done.rpartition("/")[0]
            continue
        here = f"{done}/{part}".lstrip("/")
        found = _look(layers, total, here, 0)
        if found is None:
            return None
        if found.entry.kind is Kind.SYMLINK:
            hops += 1
            if hops > _MOST_HOPS:
                raise _in_circles(path)
            target = found.entry.target
            done = "" if target.startswith("/") else done
            todo.extendleft(reversed(target.split("/")))
            found = None
            continue
        if found.entry.kind is not Kind.DIRECTORY and any(part not in ("", ".") for part in todo):
            return None
        done = here
    if found is None or done == "" or found.entry.kind is Kind.DIRECTORY:
        # What a path ends at by `..` or at the root is a directory.
        return Place(0, "", _DIRECTORY)
    return _follow_hard_links(layers, total, found, path)


def _follow_hard_links(layers: Sequence[Layer], total: int, found: Place | None, path: str) -> Place | None:
    hops = 0
    while found is not None and found.entry.kind is Kind.HARD_LINK:
        hops += 1
        if hops > _MOST_HOPS:
            raise _in_circles(path)
        target = clean(found.entry.target)
        found = _look(layers, total, target, found.layer) if target else None
    return found


def _look(layers: Sequence[Layer], total: int, path: str, start: int) -> Place | None:
    """The topmost entry at a path that has no link in it, from a layer on."""
    for number in range(start, total):
        if number >= len(layers):
            raise NextLayer
        entry = layers[number].find(path)
        if entry is not None:
            return Place(number, path, entry)
        if layers[number].hides(path):
            return None
    return None


def clean(name: str) -> str | None:
    """A path from the root, with nothing idle in it; None for the root, and for what leads out of it."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    return "/".join(parts) if parts and ".." not in parts else None


def _in_circles(path: str) -> UserError:
    return UserError(f"the links at {path} lead in circles", hint="name the file itself")
