# SPDX-License-Identifier: Apache-2.0
"""Lets a file of a volume grow: it moves to the end of the image, and everything that knows it follows.

Boot loaders and other tools find a larger file in the same place of the tree. What was there before is
kept in a small record behind the file, so that the original image can be had again, byte by byte.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator

from muster.errors import MediaError
from muster.image.iso.hybrid import Growth, grow_tables, partition_starts
from muster.image.iso.records import DAMAGED, SECTOR
from muster.image.iso.rendering import both, sectors
from muster.image.iso.volume import DESCRIPTORS_AT, Extent, Tree, Volume
from muster.image.overlay import Overlay, Patch

_UNDO_HEADER = struct.Struct("<16sI32s")
_UNDO_MAGIC = b"MUSTER-UNDO-1\r\n\0"
_MAX_UNDO = 1 << 20
_UDF = (b"BEA01", b"NSR02", b"NSR03")
_DESCRIPTOR_SECTORS = 32


def relocate(volume: Volume, file: Extent, data: bytes, further: tuple[Patch, ...] = ()) -> Overlay:
    """Give a file new content at the end of the image; undoing it undoes the `further` patches, too."""
    _check_movable(volume, file)
    data += bytes(-len(data) % SECTOR)
    offset = next_place(volume)
    undo_at = offset + len(data)
    records = tuple(_repoint(volume, file, offset, len(data)))
    # The size of the undo record hangs on what it holds, not on the values: a first try tells it.
    draft = grow_tables(volume, undo_at + SECTOR)
    room = len(_render_undo(volume, (*further, *records, *resize(volume, draft), *draft.patches)))
    growth = grow_tables(volume, undo_at + room)
    patches = (*further, *records, *resize(volume, growth), *growth.patches)
    added = (
        Patch(offset, data, file.path),
        Patch(undo_at, _render_undo(volume, patches), "the undo record"),
    )
    return Overlay.of(volume.file_size, (*patches, *added), size=growth.size)


def next_place(volume: Volume) -> int:
    """Where a file that moves will stand: the first sector behind the image."""
    return sectors(volume.file_size) * SECTOR


def find_undo(volume: Volume, file: Extent) -> Overlay | None:
    """What gives back the image as it was before a file moved; None if it did not."""
    if file.end + _UNDO_HEADER.size > volume.file_size:
        return None
    header = volume.read(file.end, _UNDO_HEADER.size)
    magic, length, digest = _UNDO_HEADER.unpack(header)
    if magic != _UNDO_MAGIC:
        return None
    body = volume.read(file.end + _UNDO_HEADER.size, min(length, _MAX_UNDO))
    if hashlib.sha256(body).digest() != digest:
        raise MediaError(f"the undo record of {volume.name} is damaged", hint=DAMAGED)
    try:
        undo = json.loads(body)
        size = int(undo["size"])
        patches = [Patch(int(at), bytes.fromhex(old), str(name)) for at, old, name in undo["patches"]]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise MediaError(f"the undo record of {volume.name} is damaged", hint=DAMAGED) from error
    if not 0 < size <= file.offset:
        raise MediaError(f"the undo record of {volume.name} is damaged", hint=DAMAGED)
    return Overlay.of(volume.file_size, patches, size=size)


def _render_undo(volume: Volume, patches: tuple[Patch, ...]) -> bytes:
    kept = [
        [patch.offset, volume.read(patch.offset, len(patch.data)).hex(), patch.name]
        for patch in sorted(patches, key=lambda patch: patch.offset)
        if patch.end <= volume.file_size
    ]
    body = json.dumps({"size": volume.file_size, "patches": kept}, separators=(",", ":")).encode()
    record = _UNDO_HEADER.pack(_UNDO_MAGIC, len(body), hashlib.sha256(body).digest()) + body
    return record + bytes(-len(record) % SECTOR)


def _check_movable(volume: Volume, file: Extent) -> None:
    if file.sections != 1:
        raise MediaError(f"{file.path} in {volume.name} is too large to be moved", hint=DAMAGED)
    if has_udf(volume):
        raise MediaError(
            f"{volume.name} has a UDF file system, too, in which {file.path} cannot be moved",
            hint="use an image without UDF, or less data",
        )


def has_udf(volume: Volume) -> bool:
    """Whether it has a further file system, which Muster does not change."""
    room = min(_DESCRIPTOR_SECTORS * SECTOR, volume.file_size - DESCRIPTORS_AT)
    head = volume.read(DESCRIPTORS_AT, room)
    return any(head[at + 1 : at + 6] in _UDF for at in range(0, len(head), SECTOR))


def all_trees(volume: Volume) -> Iterator[Tree]:
    """All trees: a partition may have one of its own, so that it can be mounted."""
    yield from volume.trees
    for start in sorted(partition_starts(volume)):
        if start and start % SECTOR == 0 and start < volume.file_size:
            yield from volume.find_trees(start)


def _repoint(volume: Volume, file: Extent, offset: int, length: int) -> Iterator[Patch]:
    name = f"the directory record of {file.path}"
    seen: set[int] = set()
    for tree in all_trees(volume):
        for other in volume.walk(tree):
            same = (other.offset, other.length) == (file.offset, file.length)
            if same and other.record not in seen:
                seen.add(other.record)
                yield Patch(other.record + 2, both((offset - tree.origin) // SECTOR), name)
                yield Patch(other.record + 10, both(length), name)


def resize(volume: Volume, growth: Growth) -> Iterator[Patch]:
    """Tell all trees how large the volume is."""
    for tree in all_trees(volume):
        blocks = (growth.volume_bytes - tree.origin) // SECTOR
        yield Patch(tree.descriptor + 80, both(blocks), "the volume size")
