# SPDX-License-Identifier: Apache-2.0
"""Which files are below a folder of a host. What is mounted there is not of it: a whole system may be."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path


def _device_of(path: Path) -> int:
    try:
        return path.lstat().st_dev
    except OSError:
        return -1  # It is gone again.


def find_files(place: Path, device_of: Callable[[Path], int] = _device_of) -> list[Path] | None:
    """A file, or all that is below a folder; None when there is none. Links are not followed."""
    if not place.is_dir():
        return [place] if place.is_file() else None
    own = device_of(place)
    found = []
    for folder, names, files in os.walk(place):
        folders = {name: Path(folder, name) for name in names}
        found += [Path(folder, name) for name in files]
        found += [path for path in folders.values() if path.is_symlink()]
        names[:] = [name for name, path in folders.items() if device_of(path) == own]
    return sorted(found)
