# SPDX-License-Identifier: Apache-2.0
"""Which builds stay: every change of Muster or of the recipe gives a new one, and old ones would pile up."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from muster.frozen import dataclass
from muster.image.cache.made import SORTS, find_manifest, is_open

KEPT: Final = 3
"""How many of a kind stay, the new one included."""
RECENT_S: Final = 2 * 3600
"""Who used one so lately may still want it, such as the tests of another clone."""
_SORTS: Final = [sort for sort in SORTS if sort.folder == "machine-os"]


@dataclass(frozen=True)
class Kept:
    """Something that was built once."""

    name: str
    kind: str
    used_at: float


def choose_old(found: Iterable[Kept], now: float) -> list[str]:
    """The names of those that nobody will miss: not among the last used of their kind, and not recent."""
    kinds: defaultdict[str, list[Kept]] = defaultdict(list)
    for each in sorted(found, key=lambda each: (each.used_at, each.name), reverse=True):
        kinds[each.kind].append(each)
    rest = [each for kind in kinds.values() for each in kind[KEPT:]]
    return sorted(each.name for each in rest if now - each.used_at > RECENT_S)


def forget_old(place: Path, new: str, now: float) -> None:
    """Remove old builds and installed packages. Whoever calls it holds the lock of the builds."""
    found = [
        Kept(path.name, sort.kind + _variant(path), path.stat().st_mtime)
        for sort in _SORTS
        for path in place.iterdir()
        if path.is_dir() and sort.name.fullmatch(path.name) and path.name != new
    ]
    found.append(Kept(new, _SORTS[0].kind + _variant(place / new), now))
    for name in choose_old(found, now):
        if not is_open(place / name):
            shutil.rmtree(place / name, ignore_errors=True)


def _variant(path: Path) -> str:
    """For which machines a build is."""
    manifest = find_manifest(path) or {}
    return f" {manifest.get('architecture')} {manifest.get('hardware')}"
