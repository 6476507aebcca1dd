# SPDX-License-Identifier: Apache-2.0
"""Garbage collection: what no image needs is removed, and what interrupted transfers left."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from difflib import get_close_matches

from muster.errors import MediaError, UserError
from muster.frozen import dataclass
from muster.release.oci.digest import Digest
from muster.release.store.contents import Contents
from muster.release.store.reach import Reach, find_reach
from muster.release.store.store import Store


@dataclass(frozen=True)
class Collected:
    """What was removed, or would be."""

    forgotten: tuple[str, ...]
    blobs: tuple[tuple[Digest, int], ...]
    partial_bytes: int

    @property
    def freed_bytes(self) -> int:
        return sum(size for _, size in self.blobs) + self.partial_bytes


def collect_garbage(store: Store, forget: Collection[str] = (), *, dry_run: bool = False) -> Collected:
    """Forget some names, then remove every blob that no other name leads to.

    Nothing is removed when a manifest that is still needed cannot be read: what it needs is not known. A dry
    run writes nothing, not even a lock, so it works on a read-only medium.
    """
    with contextlib.nullcontext() if dry_run else store.alone():
        contents = store.contents()
        _check_names(contents, forget)
        reach = find_reach(store, [root for root in contents.roots if root[0] not in forget])
        _refuse_unknown(reach)
        garbage = tuple(each for each in store.blobs.everything() if each[0] not in reach.needs)
        partial_bytes = sum(size for _, size in store.blobs.partial())
        if not dry_run:
            if forget:
                store.forget(forget)
            for digest, _ in garbage:
                store.blobs.remove(digest)
            partial_bytes = store.blobs.remove_partial()
    return Collected(tuple(sorted(forget)), garbage, partial_bytes)


def _check_names(contents: Contents, names: Collection[str]) -> None:
    for name in names:
        if name not in contents.images:
            close = get_close_matches(name, contents.images, n=1)
            raise UserError(
                f"there is no image {name} in the store",
                hint=f"did you mean {close[0]}?" if close else "`muster store list` shows the names",
            )


def _refuse_unknown(reach: Reach) -> None:
    if not reach.bad:
        return
    digest, error = min(reach.bad.items())
    images = sorted(reach.needs[digest].images)
    more = f", and {len(reach.bad) - 1} more manifests" if len(reach.bad) > 1 else ""
    raise MediaError(
        f"nothing was removed, because what {', '.join(images)} needs is not known: {error.message}{more}",
        hint=f"copy that image again, or forget it: --forget {images[0]}",
    )
