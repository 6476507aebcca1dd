# SPDX-License-Identifier: Apache-2.0
"""Where a live host gets images from: its medium if that has them, else registries."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TypeAlias

from muster.errors import MusterError
from muster.model.medium import CARRIED_RELEASE
from muster.release.mirror.sides import FromRegistry, FromStore, Origin
from muster.release.oci.client import Settings, open_client
from muster.release.oci.reference import Reference
from muster.release.ports import Source
from muster.release.store.store import LAYOUT, open_store

OpenOrigins: TypeAlias = Callable[[Path, Settings], AbstractAsyncContextManager[tuple[Origin, ...]]]


@asynccontextmanager
async def open_origins(root: Path, settings: Settings) -> AsyncIterator[tuple[Origin, ...]]:
    """All places that images come from, the nearest first, until the context ends."""
    async with open_client(settings) as client:
        yield (*stores_at(root / CARRIED_RELEASE), FromRegistry(client))


def stores_at(*folders: Path) -> tuple[Origin, ...]:
    """The stores among folders; what is none, or cannot be read, is left out."""
    found = []
    for folder in folders:
        try:
            if (folder / LAYOUT).exists():
                found.append(FromStore(open_store(folder)))
        except (OSError, MusterError):
            continue
    return tuple(found)


async def nearest(origins: Sequence[Origin], image: Reference) -> Source:
    """An image at the first place that knows it; what is wrong is what the last one says."""
    *near, last = origins
    for origin in near:
        try:
            return await origin.source(image)
        except MusterError:
            continue
    return await last.source(image)
