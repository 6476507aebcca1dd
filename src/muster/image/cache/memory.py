# SPDX-License-Identifier: Apache-2.0
"""What releases say of themselves, kept beside images: what was read once is not asked for again."""

from __future__ import annotations

import contextlib

from muster.errors import ExternalError
from muster.image.cache.store import Cache
from muster.release.kinds.reading import Memory
from muster.release.oci.digest import Digest, hex_of


def release_memory(cache: Cache) -> Memory:
    """A memory that a cache keeps."""

    def find(digest: Digest, name: str) -> bytes | None:
        try:
            return cache.derived(hex_of(digest), name).read_bytes()
        except OSError:
            return None

    def keep(digest: Digest, name: str, data: bytes) -> None:
        if not cache.unwritable:
            with contextlib.suppress(ExternalError):
                cache.save_derived(hex_of(digest), name, [data])

    return Memory(find, keep)
