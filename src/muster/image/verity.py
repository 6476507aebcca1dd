# SPDX-License-Identifier: Apache-2.0
"""The fs-verity digest of an image (SHA-256, blocks of 4096 bytes, no salt), as `fsverity digest` tells it.

It is the root of a tree of hashes: when an overlay changes a few blocks, a few hashes are computed anew,
so the digest of every customized image costs less than a millisecond, not seconds.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Mapping

from muster.errors import MediaError
from muster.frozen import dataclass
from muster.image.overlay import Overlay, Pread

_BLOCK = 4096
_HASH = 32
_FAN = _BLOCK // _HASH
_READ = 4 << 20
_DESCRIPTOR = struct.Struct("<BBBBIQ64s32s144x")
_SAVED = struct.Struct("<8sQ32s")
_MAGIC = b"MUVERITY"


@dataclass(frozen=True)
class Leaves:
    """The hashes of a file: those of its blocks, those of the blocks that these hashes fill, and so on."""

    size: int
    levels: tuple[bytes, ...]

    @property
    def digest(self) -> bytes:
        """The digest of the file as it is."""
        return _describe(self.size, self.levels[-1])

    def digest_with(self, overlay: Overlay, pread: Pread) -> bytes:
        """The digest of the file with an overlay applied; `pread` reads the file itself."""
        if overlay.base_size != self.size:
            raise MediaError(
                f"the hashes are those of a file of {self.size} bytes, not {overlay.base_size}",
                hint="hash the base image again",
            )
        touched = _touched_blocks(overlay)
        changed = {
            block: _hash_block(overlay.read(pread, block * _BLOCK, _BLOCK)) for block in sorted(touched)
        }
        return _describe(overlay.size, self._root(-(-overlay.size // _BLOCK), changed))

    def _root(self, count: int, changed: Mapping[int, bytes]) -> bytes:
        """Climb the tree, computing only what differs."""
        level = 0
        while count > 1:
            old = self.levels[level] if level < len(self.levels) else b""
            parents = {block // _FAN for block in changed}
            if count * _HASH != len(old):
                parents |= set(range(min(count, len(old) // _HASH) // _FAN, -(-count // _FAN)))
            changed = {parent: _hash_block(_children(old, changed, parent, count)) for parent in parents}
            count = -(-count // _FAN)
            level += 1
        if count == 0:
            return b""
        return changed[0] if 0 in changed else self.levels[level][:_HASH]

    def save(self) -> bytes:
        """As bytes for a cache."""
        leaves = self.levels[0]
        return _SAVED.pack(_MAGIC, self.size, hashlib.sha256(leaves).digest()) + leaves

    @classmethod
    def parse(cls, data: bytes) -> Leaves:
        """From the bytes of a cache."""
        if len(data) < _SAVED.size:
            raise MediaError("the saved hashes of an image are damaged", hint="hash the base image again")
        magic, size, digest = _SAVED.unpack_from(data)
        leaves = data[_SAVED.size :]
        count = -(-size // _BLOCK)
        if magic != _MAGIC or len(leaves) != count * _HASH or hashlib.sha256(leaves).digest() != digest:
            raise MediaError("the saved hashes of an image are damaged", hint="hash the base image again")
        return cls(size, _levels(leaves))


def hash_leaves(pread: Pread, size: int, progress: Callable[[int], None] | None = None) -> Leaves:
    """Hash every block of a file."""
    sha256 = hashlib.sha256
    leaves: list[bytes] = []
    for offset in range(0, size, _READ):
        data = pread(offset, min(_READ, size - offset))
        if len(data) != min(_READ, size - offset):
            raise MediaError("the image became shorter while it was read", hint="try again")
        view = memoryview(data + bytes(-len(data) % _BLOCK) if len(data) % _BLOCK else data)
        leaves += [sha256(view[at : at + _BLOCK]).digest() for at in range(0, len(view), _BLOCK)]
        if progress is not None:
            progress(offset + len(data))
    return Leaves(size, _levels(b"".join(leaves)))


def _touched_blocks(overlay: Overlay) -> set[int]:
    touched: set[int] = set()
    for patch in overlay.patches:
        touched.update(range(patch.offset // _BLOCK, -(-patch.end // _BLOCK)))
    if overlay.size != overlay.base_size:
        touched.update(range(min(overlay.size, overlay.base_size) // _BLOCK, -(-overlay.size // _BLOCK)))
    return touched


def _children(old: bytes, changed: Mapping[int, bytes], parent: int, count: int) -> bytes:
    first, last = parent * _FAN, min((parent + 1) * _FAN, count)
    if any(child in changed for child in range(first, last)):
        return b"".join(
            changed.get(child) or old[child * _HASH : (child + 1) * _HASH] for child in range(first, last)
        )
    return old[first * _HASH : last * _HASH]


def _levels(leaves: bytes) -> tuple[bytes, ...]:
    levels = [leaves]
    while len(levels[-1]) > _HASH:
        below = levels[-1]
        levels.append(b"".join(_hash_block(below[at : at + _BLOCK]) for at in range(0, len(below), _BLOCK)))
    return tuple(levels)


def _hash_block(data: bytes) -> bytes:
    return hashlib.sha256(data.ljust(_BLOCK, b"\0")).digest()


def _describe(size: int, root: bytes) -> bytes:
    return hashlib.sha256(_DESCRIPTOR.pack(1, 1, 12, 0, 0, size, root, b"")).digest()
