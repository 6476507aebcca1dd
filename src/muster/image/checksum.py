# SPDX-License-Identifier: Apache-2.0
"""Checksums of media: the fs-verity digest takes milliseconds, where SHA-256 of a gigabyte takes a second.

`fsverity digest FILE` prints the same line, and a Linux kernel can enforce it. docs/adr tells why.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

from muster.errors import MediaError, UserError
from muster.image.cache.store import Cache
from muster.image.overlay import Pread
from muster.image.verity import Leaves, hash_leaves
from muster.progress import Progress, by_total

SUFFIX: Final = ".fsverity"
SIGNATURE_SUFFIX: Final = ".fsverity.sig"
_LINE: Final = re.compile(r"sha256:([0-9a-f]{64}) [ *]?(\S.*)")
_STEP: Final = 4 << 20


def render_checksum(digest: bytes, name: str) -> bytes:
    """The line that `fsverity digest` prints."""
    return f"sha256:{digest.hex()} {name}\n".encode()


def parse_checksum(data: bytes, where: str) -> bytes:
    """The digest that a checksum file holds."""
    match = _LINE.fullmatch(data.decode("utf-8", "replace").strip())
    if match is None:
        raise UserError(
            f"{where} is not a line like `sha256:HEX NAME`", hint="`fsverity digest FILE` prints such a line"
        )
    return bytes.fromhex(match[1])


def load_leaves(cache: Cache, sha256: str, pread: Pread, size: int, progress: Progress) -> Leaves:
    """The hashes of a base image's blocks: computed once, then kept in the cache."""
    path = cache.derived(sha256, "verity")
    try:
        return Leaves.parse(path.read_bytes())
    except (OSError, MediaError):
        pass
    with progress.bar("hashing the base image, once", total=size) as advance:
        leaves = hash_leaves(pread, size, by_total(advance))
    if not cache.unwritable:
        cache.save_derived(sha256, "verity", [leaves.save()])
    return leaves


def sha256_of(pread: Pread, size: int, progress: Progress) -> str:
    """The SHA-256 of a whole medium, for those who compare with `sha256sum`."""
    digest = hashlib.sha256()
    with progress.bar("computing the SHA-256", total=size) as advance:
        for offset in range(0, size, _STEP):
            data = pread(offset, min(_STEP, size - offset))
            digest.update(data)
            advance(len(data))
    return digest.hexdigest()
