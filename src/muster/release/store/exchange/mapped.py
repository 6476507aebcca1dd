# SPDX-License-Identifier: Apache-2.0
"""Images of a store as the files of a store of their own, mapped and not copied, to be put somewhere."""

from __future__ import annotations

import hashlib
import mmap
import os
from collections.abc import Mapping

from muster.progress import SILENT, Progress
from muster.release.oci.digest import PREFIX, hex_of
from muster.release.oci.manifest import Descriptor
from muster.release.store.contents import render_contents
from muster.release.store.flaws import damaged, unreadable, wrong_size
from muster.release.store.store import INDEX, LAYOUT, Store, render_layout


def map_images(
    store: Store, images: Mapping[str, Descriptor], progress: Progress = SILENT
) -> dict[str, bytes | memoryview]:
    """All files by their paths. Every blob is checked: a damaged one is not passed on."""
    blobs = {blob.digest: blob for image in images.values() for blob in store.walk(image)}
    files: dict[str, bytes | memoryview] = {LAYOUT: render_layout(), INDEX: render_contents(images.items())}
    with progress.bar(
        "reading the release", total=sum(each.size_bytes for each in blobs.values())
    ) as advance:
        for digest in sorted(blobs):
            data = _map(store, blobs[digest])
            if PREFIX + hashlib.sha256(data).hexdigest() != digest:
                raise damaged(store.blobs.path(digest))
            files[f"blobs/sha256/{hex_of(digest)}"] = data
            advance(len(data))
    return files


def _map(store: Store, blob: Descriptor) -> bytes | memoryview:
    with store.blobs.open(blob.digest) as file:
        size = os.fstat(file.fileno()).st_size
        if size != blob.size_bytes:
            raise wrong_size(store.blobs.path(blob.digest), size, blob.size_bytes)
        try:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)) if size else b""
        except OSError as error:
            raise unreadable(store.blobs.path(blob.digest), error) from error
