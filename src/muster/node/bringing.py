# SPDX-License-Identifier: Apache-2.0
"""Bringing images into a store, by digest, each from the first place that has it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from muster.errors import ExternalError, MusterError
from muster.progress import Advance
from muster.release.copying import How, copy_image
from muster.release.in_store import StoreTarget
from muster.release.mirror.sides import Origin
from muster.release.node.images import NodeImage
from muster.release.oci.reference import parse_reference
from muster.release.store.store import Store


class Count:
    """How many bytes of some images are there, for copying loops and threads to tell."""

    def __init__(self, tell: Callable[[int], None]) -> None:
        self._tell = tell
        self._done = 0
        self._lock = threading.Lock()

    @contextmanager
    def bar(
        self,
        label: str,  # noqa: ARG002
        *,
        total: int | None = None,  # noqa: ARG002
        unit: str = "B",  # noqa: ARG002
        done: int = 0,  # noqa: ARG002
    ) -> Iterator[Advance]:
        """What copying is told to show its progress with."""
        yield self._advance

    def _advance(self, count: int) -> None:
        with self._lock:
            self._done += count
            done = self._done
        self._tell(done)

    def reach(self, done: int) -> None:
        """So much is there, whether it had to be brought or not."""
        with self._lock:
            self._done = done
        self._tell(done)


async def bring(images: Sequence[NodeImage], origins: Sequence[Origin], store: Store, count: Count) -> None:
    """Bring images, each from the first place that has it; what is here is neither fetched nor read."""
    there = 0
    for image in images:
        await _bring(image, origins, store, How(progress=count))
        there += image.size_bytes
        count.reach(there)


async def _bring(image: NodeImage, origins: Sequence[Origin], store: Store, how: How) -> None:
    reference = parse_reference(image.name)
    troubles: list[MusterError] = []
    for origin in origins:
        try:
            await copy_image(await origin.source(reference), StoreTarget(store, reference), how)
        except MusterError as error:
            troubles.append(error)
        else:
            return
    said = "; ".join(dict.fromkeys(error.message for error in troubles)) or "nobody has it"
    raise ExternalError(said, hint=troubles[-1].hint if troubles else "")
