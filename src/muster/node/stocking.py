# SPDX-License-Identifier: Apache-2.0
"""A store on a disk that has just what a host needs, proven by reading it back from the disk."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TypeAlias

from muster.errors import UserError
from muster.node.bringing import Count, bring
from muster.node.spoiled import Spoiled, let_go
from muster.progress import SILENT, Progress
from muster.release.mirror.sides import Origin
from muster.release.node.images import NodeImages
from muster.release.off_loop import off_loop
from muster.release.store.store import Store, create_store, remove_store
from muster.release.store.verify import verify_store
from muster.units import render_size

Bars: TypeAlias = Callable[[str, int], AbstractAsyncContextManager[Count]]
"""Gives what counts a piece of work, by its name and how many bytes it is at most."""


async def open_stock(images: NodeImages, folder: Path) -> Store:
    """The store of a folder, with room for some images; what an earlier run left there is good, or gone."""
    store = await off_loop(_open_whole, folder)
    with contextlib.suppress(Spoiled):
        await off_loop(read_back, (), store, SILENT)
    await off_loop(_check_room, images, store)
    return store


async def stock(images: NodeImages, origins: Sequence[Origin], store: Store, bar: Bars) -> None:
    """Bring what a store lacks of some images, then read all of it back. Called again, it goes on.

    `Spoiled` when the disk did not keep something: that is gone then, and may be brought again.
    """
    async with bar("copying images to the disk", images.size_bytes) as count:
        await bring(images.images, origins, store, count)
    await off_loop(store.blobs.remove_partial)
    names = [image.name for image in images.images]
    async with bar("reading images back", images.size_bytes) as count:
        await off_loop(read_back, names, store, count)
        count.reach(images.size_bytes)


def _open_whole(folder: Path) -> Store:
    """The store of a folder; one whose table cannot be read is begun anew."""
    try:
        store = create_store(folder)
        store.contents()
    except UserError:
        remove_store(folder)
        store = create_store(folder)
    return store


def size_of(store: Store) -> int:
    """How many bytes are there, of whole blobs and of others."""
    return sum(size for _, size in (*store.blobs.everything(), *store.blobs.partial()))


def _check_room(images: NodeImages, store: Store) -> None:
    free = shutil.disk_usage(store.root).free
    if free + size_of(store) < images.size_bytes:
        raise UserError(
            f"the disk has no room for the images that this host starts from: they are "
            f"{render_size(images.size_bytes)}, and {render_size(free)} are free",
            hint="choose a larger installation disk for this host",
        )


def read_back(names: Iterable[str], store: Store, progress: Progress) -> None:
    """Hash everything as the disk has it; what is wrong is removed, and said by `Spoiled`."""
    for digest, _ in store.blobs.everything():
        let_go(store.blobs.path(digest))
    report = verify_store(store, full=True, progress=progress)
    for fault in report.faults:
        store.blobs.remove(fault.digest)
    wrong = [fault.detail for fault in report.faults]
    wrong += [f"{name} is not whole" for name in names if name not in report.whole]
    if wrong:
        raise Spoiled(wrong[0])
