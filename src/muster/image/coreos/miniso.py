# SPDX-License-Identifier: Apache-2.0
"""The minimal twin of a live image: the same without its root file system, which is fetched at boot.

/coreos/miniso.dat tells how to make it: which files of the full image stand where, and, packed, all bytes
between them. Nothing has to be written for that: the twin is read through a table of pieces.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator
from itertools import chain, pairwise

from muster.errors import MediaError, UserError
from muster.frozen import dataclass
from muster.image.assembly import Assembly, Stretch
from muster.image.compression import compress, decompress
from muster.image.coreos.areas import KARGS_JSON, load_json, load_layout
from muster.image.coreos.customize import reset
from muster.image.coreos.kargs import Edit, edit_kargs, encode_kargs
from muster.image.iso.records import DAMAGED, SECTOR
from muster.image.iso.volume import Extent, Volume
from muster.image.overlay import Overlay, Patch, Pread

MINISO_PATH = "coreos/miniso.dat"

_MAGIC, _VERSION = b"MINISO\0\0", 1
_MAX_BYTES = 1 << 20
_MAX_UNPACKED = 256 << 20
_STEP = 4 << 20
_WIDE = {251: struct.Struct("<H"), 252: struct.Struct("<I"), 253: struct.Struct("<Q")}


@dataclass(frozen=True)
class Entry:
    """A file that both images have: its sector in each, and its length."""

    minimal_lba: int
    full_lba: int
    length: int


@dataclass(frozen=True)
class Recipe:
    """How to make a minimal image from a full one."""

    entries: tuple[Entry, ...]
    digest: bytes
    packed: bytes


@dataclass(frozen=True)
class Minimal:
    """A minimal image, and the kernel arguments that make it fetch its root file system."""

    volume: Volume
    overlay: Overlay
    assembly: Assembly
    """Where the bytes of the volume are in the full image."""

    def read(self, offset: int, length: int) -> bytes:
        """A byte range of the result."""
        return self.overlay.read(self.volume.read, offset, length)


def minimal_iso(full: Volume, rootfs_url: str | None) -> Minimal:
    """The minimal image of a live image; valid as long as that is open. A customized one counts as reset."""
    clean = reset(full)
    volume, table = _open_minimal(full.view(clean))
    kargs = load_layout(volume).kargs
    if kargs is None or kargs.info is None:
        raise MediaError(f"the minimal image in {full.name} has no kernel arguments", hint=DAMAGED)
    live = [word for word in kargs.current.split() if word.startswith("coreos.liveiso=")]
    if not live:
        raise MediaError(f"the minimal image in {full.name} has no coreos.liveiso= argument", hint=DAMAGED)
    default = edit_kargs(kargs.current, Edit(delete=live[:1]))
    text = edit_kargs(default, Edit(append=[f"coreos.live.rootfs_url={_checked_url(rootfs_url)}"]))
    patches = [
        Patch(
            place.area.offset,
            encode_kargs(text if rootfs_url else default, kargs.size, pad=place.pad, end=place.end),
            place.area.name,
        )
        for place in kargs.areas
    ]
    patches.append(Patch(kargs.info.offset, _render_info(volume, default), KARGS_JSON))
    original = Assembly.of_base(0, full.file_size).under(clean)
    return Minimal(volume, Overlay.of(volume.file_size, patches), _traced(table, original))


def pack_minimal(full: Volume, minimal: Volume) -> Recipe:
    """Find how to make a minimal image from a full one that has all of its files."""
    known = {file.path: file for file in full.walk()}
    found: set[Entry] = set()
    for file in minimal.walk():
        # The recipe is written into the full image's file, so that one cannot be a part of the recipe.
        twin = known.get(file.path) if file.path != MINISO_PATH else None
        if twin is None or twin.length != file.length:
            raise MediaError(
                f"{file.path} of {minimal.name} is not in {full.name}", hint="make both from the same files"
            )
        # The boot catalogue says where things lie; what differs goes with the bytes between the files.
        if file.length and _is_same(full, twin, minimal, file):
            found.add(Entry(file.offset // SECTOR, twin.offset // SECTOR, file.length))
    entries = tuple(sorted(found, key=lambda entry: entry.minimal_lba))
    _check_entries(entries)
    position, gaps = 0, []
    for entry in entries:
        gaps.append(minimal.read(position, entry.minimal_lba * SECTOR - position))
        position = entry.minimal_lba * SECTOR + entry.length
    gaps.append(minimal.read(position, minimal.file_size - position))
    return Recipe(entries, _digest(minimal.read, minimal.file_size), compress(b"".join(gaps)))


def _is_same(full: Volume, twin: Extent, minimal: Volume, file: Extent) -> bool:
    steps = ((at, min(_STEP, file.length - at)) for at in range(0, file.length, _STEP))
    return all(full.read(twin.offset + at, n) == minimal.read(file.offset + at, n) for at, n in steps)


def render_recipe(recipe: Recipe, app_version: str) -> bytes:
    """The content of miniso.dat."""
    numbers = [number for e in recipe.entries for number in (e.minimal_lba, e.full_lba, e.length)]
    head = _MAGIC + _varint(_VERSION) + _varint(len(app_version)) + app_version.encode("ascii")
    table = _varint(len(recipe.entries)) + b"".join(map(_varint, numbers))
    return head + table + recipe.digest + _varint(len(recipe.packed)) + recipe.packed


def parse_recipe(data: bytes) -> Recipe:
    """From the content of miniso.dat."""
    reader = _Reader(data)
    if reader.take(len(_MAGIC)) != _MAGIC:
        raise _broken("does not start as it should")
    version = reader.number()
    app_version = reader.take(reader.number()).decode("utf-8", "replace")
    if version != _VERSION:
        raise MediaError(
            f"{MINISO_PATH} has version {version}, made by {app_version!r}; only {_VERSION} is known",
            hint="use the full image",
        )
    count = reader.number()
    if count > len(data):
        raise _broken(f"has {count} entries")
    entries = tuple(Entry(reader.number(), reader.number(), reader.number()) for _ in range(count))
    _check_entries(entries)
    return Recipe(entries, reader.take(32), reader.take(reader.number()))


class _Reader:
    """Numbers and bytes, as Rust's bincode writes them."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def take(self, length: int) -> bytes:
        part = self._data[self._position : self._position + length]
        if len(part) != length:
            raise _broken("ends in the middle")
        self._position += length
        return part

    def number(self) -> int:
        first = self.take(1)[0]
        if first < min(_WIDE):
            return first
        wide = _WIDE.get(first)
        if wide is None:
            raise _broken(f"has a number that starts with {first}")
        return int(wide.unpack(self.take(wide.size))[0])


def _varint(number: int) -> bytes:
    for first, wide in _WIDE.items():
        if number < min(_WIDE):
            return bytes([number])
        if number < 1 << 8 * wide.size:
            return bytes([first]) + wide.pack(number)
    raise ValueError(number)


def _check_entries(entries: tuple[Entry, ...]) -> None:
    if not entries:
        raise _broken("names no files")
    for first, second in pairwise(entries):
        if first.minimal_lba * SECTOR + first.length > second.minimal_lba * SECTOR:
            raise _broken(f"lets the files at {first.minimal_lba} and {second.minimal_lba} overlap")


def _open_minimal(full: Volume) -> tuple[Volume, Assembly]:
    """The minimal image as a volume, compared with its checksum."""
    file = full.find(MINISO_PATH)
    if file is None:
        raise MediaError(
            f"{full.name} has no minimal image: it has no {MINISO_PATH}",
            hint="use the full image, or a base image that can be made minimal",
        )
    recipe = parse_recipe(full.load(file, limit=_MAX_BYTES))
    table = Assembly.join(_parts(full, recipe))

    def pread(offset: int, length: int) -> bytes:
        return table.read(full.read, offset, length)

    if _digest(pread, table.size_bytes) != recipe.digest:
        raise MediaError(f"the minimal image in {full.name} does not match its checksum", hint=DAMAGED)
    return Volume(f"the minimal image in {full.name}", pread, table.size_bytes), table


def _traced(table: Assembly, original: Assembly) -> Assembly:
    """The same table with the places that bytes of the full image have in its file."""
    parts = (original.cut(each.at, each.length) if each.data is None else (each,) for each in table.stretches)
    return Assembly.join(chain.from_iterable(parts))


def _parts(full: Volume, recipe: Recipe) -> Iterator[Stretch]:
    gaps, _ = decompress(recipe.packed, limit=_MAX_UNPACKED, what=MINISO_PATH)
    position = used = 0

    for entry in recipe.entries:
        start = entry.minimal_lba * SECTOR
        gap = start - position
        if used + gap > len(gaps):
            raise _broken("does not hold all bytes between the files")
        if entry.full_lba * SECTOR + entry.length > full.file_size:
            raise _broken(f"refers to {entry.length} bytes in sector {entry.full_lba}, which is not there")
        yield Stretch(position, gap, data=gaps[used : used + gap])
        yield Stretch(start, entry.length, entry.full_lba * SECTOR)
        position, used = start + entry.length, used + gap
    yield Stretch(position, len(gaps) - used, data=gaps[used:])


def _digest(pread: Pread, size: int) -> bytes:
    digest = hashlib.sha256()
    for offset in range(0, size, _STEP):
        digest.update(pread(offset, min(_STEP, size - offset)))
    return digest.digest()


def _checked_url(url: str | None) -> str:
    if url is not None and (not url or len(url.split()) != 1 or url != url.strip()):
        raise UserError(f"{url!r} is not a URL", hint="give the URL of the root file system, without blanks")
    return url or ""


def _render_info(volume: Volume, default: str) -> bytes:
    """kargs.json with another default, and the same length."""
    loaded = load_json(volume, KARGS_JSON)
    assert loaded is not None
    info, where = loaded
    files = info["files"]
    assert isinstance(files, list)
    # The order in which coreos-installer writes them, so that both make the same image.
    keys = ("path", "offset", "pad", "end")
    ordered = {
        "default": default,
        "files": [{key: file[key] for key in keys if file.get(key) is not None} for file in files],
        "size": info["size"],
    }
    pretty = json.dumps(ordered, indent=2, ensure_ascii=False).encode()
    short = json.dumps(ordered, separators=(",", ":"), ensure_ascii=False).encode()
    data = pretty if len(pretty) <= where.length else short
    if len(data) > where.length:
        raise MediaError(f"{KARGS_JSON} of {volume.name} has no room for {len(data)} bytes", hint=DAMAGED)
    return data.ljust(where.length)


def _broken(what: str) -> MediaError:
    return MediaError(f"{MINISO_PATH} {what}", hint=DAMAGED)
