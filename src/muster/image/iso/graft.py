# SPDX-License-Identifier: Apache-2.0
"""Adds a folder to a volume: its files stand behind the image, and every tree of it knows them.

No file of the image moves, for boot loaders know some of them by their places. The root directory gets a new
place, with one record more; the folders in it and the path tables follow.
"""

from __future__ import annotations

import stat
import struct
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from muster.errors import MediaError
from muster.frozen import dataclass
from muster.image.iso.hybrid import grow_tables
from muster.image.iso.records import DAMAGED, SECTOR, Record, parse_records
from muster.image.iso.relocate import all_trees, has_udf, next_place, resize
from muster.image.iso.rendering import (
    Node,
    PathEntry,
    both,
    long_name,
    made_at,
    owned_by_root,
    pad,
    render_folder,
    render_path_table,
    render_record,
    sectors,
    with_short_names,
)
from muster.image.iso.volume import Tree, Volume
from muster.image.overlay import Data, Overlay, Patch

_FOLDER: Final = stat.S_IFDIR | 0o555
_FILE: Final = stat.S_IFREG | 0o444
_PATH_TABLES_AT: Final = 132
_ROOT_AT: Final = 156
_MOST_PATH_TABLE: Final = 16 << 20
_MOST_JOLIET: Final = 64


@dataclass(frozen=True)
class _Placed:
    """Something, and the byte of the image at which it stands."""

    at: int
    length: int

    def extent(self, tree: Tree) -> tuple[int, int]:
        return (self.at - tree.origin) // SECTOR, self.length

    def render(self, tree: Tree) -> bytes:
        """As a directory record says it."""
        lba, length = self.extent(tree)
        return both(lba) + both(length)


def graft(volume: Volume, name: str, files: Mapping[str, Data]) -> Overlay:
    """The image with a further folder in its root: files by their paths in it, to be read by everybody."""
    if volume.find_folder(name) or volume.find(name):
        raise MediaError(
            f"{volume.name} has {name} in it already", hint="use an image that nothing was added to"
        )
    if has_udf(volume):
        raise MediaError(
            f"{volume.name} has a UDF file system, too, which cannot be added to",
            hint="use an image without UDF",
        )
    at, placed, patches = next_place(volume), {}, []
    for path in sorted(files):
        placed[f"{name}/{path}"] = _Placed(at, len(files[path]))
        patches.append(Patch(at, files[path], f"{name}/{path}"))
        at += sectors(len(files[path])) * SECTOR
    for tree in all_trees(volume):
        branch = _Branch(volume, tree, name, placed)
        parts = branch.render(at)
        patches += parts
        at = max(part.end for part in parts)
    growth = grow_tables(volume, at)
    return Overlay.of(
        volume.file_size, (*patches, *resize(volume, growth), *growth.patches), size=growth.size
    )


class _Branch:
    """A folder with all in it, as one tree of an image has it."""

    def __init__(self, volume: Volume, tree: Tree, name: str, files: Mapping[str, _Placed]) -> None:
        self._volume, self._tree, self._name, self._files = volume, tree, name, files
        self._root = volume.read(tree.origin + tree.root.lba * SECTOR, tree.root.length)
        # The dates of what is new are those of the image, so that the same parts give the same bytes.
        self._date = volume.read(tree.root.at + 18, 7)
        self._children = self._sort()
        self._folders = dict.fromkeys(self._children, _Placed(tree.origin, 0))

    def _sort(self) -> dict[str, list[Node]]:
        modes: dict[str, dict[str, int]] = defaultdict(dict)
        for file in self._files:
            path, mode = file, _FILE
            while path:
                above = path.rpartition("/")[0]
                modes[above][path] = mode
                path, mode = above, _FOLDER
        return {above: self._named(entries) for above, entries in modes.items()}

    def _named(self, entries: Mapping[str, int]) -> list[Node]:
        if not self._tree.joliet:
            return with_short_names(entries)
        nodes = [Node(path, _joliet(path, mode), mode) for path, mode in entries.items()]
        return sorted(nodes, key=lambda node: node.ident)

    def render(self, at: int) -> list[Patch]:
        """All that is new behind the image from a byte on, and what has to point there."""
        what, tree = f"the folder {self._name}", self._tree
        order = sorted(self._children, key=lambda path: path.count("/") + bool(path))
        end = at
        for path in order:  # How long a folder is does not hang on where anything stands.
            self._folders[path] = _Placed(end, len(self._render(path)))
            end += self._folders[path].length
        patches = [Patch(self._folders[path].at, self._render(path), what) for path in order]
        little, big = (render_path_table(self._path_entries(), side) for side in "<>")
        patches += [Patch(end, pad(little), "a path table")]
        patches += [Patch(end + len(pad(little)), pad(big), "a path table")]
        first = (end - tree.origin) // SECTOR
        second = first + len(pad(little)) // SECTOR
        tables = both(len(little)) + struct.pack("<II", first, 0) + struct.pack(">II", second, 0)
        patches.append(Patch(tree.descriptor + _PATH_TABLES_AT, tables, "the volume descriptor"))
        root = self._folders[""].render(tree)
        patches.append(Patch(tree.descriptor + _ROOT_AT + 2, root, "the volume descriptor"))
        patches += [Patch(at, root, "a directory record") for at in self._parents()]
        return patches

    def _render(self, path: str) -> bytes:
        return render_folder(self._records(path) if path else self._root_records())

    def _records(self, path: str) -> Iterator[bytes]:
        yield self._record(b"\0", path, _FOLDER)
        yield self._record(b"\1", path.rpartition("/")[0], _FOLDER)
        for node in self._children[path]:
            yield self._record(node.ident, node.path, node.mode, node.name)

    def _record(self, ident: bytes, path: str, mode: int, name: str = "") -> bytes:
        placed = self._files[path] if stat.S_ISREG(mode) else self._folders[path]
        extra = b""
        if self._tree.skip is not None:
            extra = bytes(self._tree.skip) + owned_by_root(mode) + made_at(self._date)
            extra += long_name(name) if name else b""
        extent = placed.extent(self._tree)
        return render_record(ident, extent, self._date, extra, is_file=stat.S_ISREG(mode))

    def _root_records(self) -> Iterator[bytes]:
        """Those that are there, and the one more at its place."""
        place = self._folders[""].render(self._tree)
        (new,) = self._children[""]
        more = [self._record(new.ident, new.path, new.mode, new.name)]
        for record, raw in self._old():
            if record.is_self_or_parent:
                yield raw[:2] + place + raw[18:]
                continue
            if more and new.ident < record.name:
                yield more.pop()
            yield raw
        yield from more

    def _old(self) -> Iterator[tuple[Record, bytes]]:
        for record in parse_records(self._root, 0):
            yield record, self._root[record.at : record.at + self._root[record.at]]

    def _parents(self) -> Iterator[int]:
        """Where folders of the root say where the root is: in their second records."""
        for record, _ in self._old():
            if record.is_directory and not record.is_self_or_parent:
                start = self._tree.origin + record.lba * SECTOR
                head = list(parse_records(self._volume.read(start, SECTOR), start))[:2]
                if [each.name for each in head] != [b"\0", b"\1"]:
                    raise MediaError(f"a folder of {self._volume.name} does not know its own", hint=DAMAGED)
                yield head[1].at + 2

    def _path_entries(self) -> list[PathEntry]:
        """All folders by levels, those of one parent together and in the order of their names."""
        old = self._old_path_entries()
        children: dict[int | str, list[tuple[bytes, int, int | str]]] = defaultdict(list)
        for number, each in enumerate(old[1:], 2):
            children[each.parent].append((each.ident, each.lba, number))
        for above, nodes in self._children.items():
            for node in nodes:
                if node.is_folder:
                    lba, _ = self._folders[node.path].extent(self._tree)
                    children[above or 1].append((node.ident, lba, node.path))
        found = [PathEntry(b"\0", self._folders[""].extent(self._tree)[0], 1)]
        level: list[tuple[int, int | str]] = [(1, 1)]
        while level:
            below: list[tuple[int, int | str]] = []
            for number, key in level:
                for ident, lba, own in sorted(children[key], key=lambda child: child[0]):
                    found.append(PathEntry(ident, lba, number))
                    below.append((len(found), own))
            level = below
        return found

    def _old_path_entries(self) -> list[PathEntry]:
        damaged = MediaError(f"the path table of {self._volume.name} is broken", hint=DAMAGED)
        size, lba = struct.unpack("<I4xI", self._volume.read(self._tree.descriptor + _PATH_TABLES_AT, 12))
        if not 0 < size <= _MOST_PATH_TABLE:
            raise damaged
        table, at = self._volume.read(self._tree.origin + lba * SECTOR, size), 0
        found: list[PathEntry] = []
        while at + 8 < size:
            length, _, place, parent = struct.unpack_from("<BBIH", table, at)
            ident = table[at + 8 : at + 8 + length]
            if not length or len(ident) != length or not 1 <= parent <= max(1, len(found)):
                raise damaged
            found.append(PathEntry(ident, place, parent))
            at += 8 + length + length % 2
        if not found:
            raise damaged
        return found


def _joliet(path: str, mode: int) -> bytes:
    name = path.rpartition("/")[2]
    if len(name) > _MOST_JOLIET:
        raise MediaError(
            f"the name {name} is too long for the image", hint=f"use up to {_MOST_JOLIET} characters"
        )
    return (name if stat.S_ISDIR(mode) else f"{name};1").encode("utf-16-be")
