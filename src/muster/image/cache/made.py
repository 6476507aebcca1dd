# SPDX-License-Identifier: Apache-2.0
"""What else the cache holds: programs and systems that were made of packages, and those packages.

Who uses something sets the time of its file or folder: that is when it was last used.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from muster.frozen import dataclass

MANIFEST: Final = "manifest.json"
_KEY: Final = "[0-9a-f]{16}"


@dataclass(frozen=True)
class Sort:
    """One sort of things: where they are, what they are called, and whose locks keep them."""

    kind: str
    folder: str
    """Below the cache, as a pattern."""
    name: re.Pattern[str]
    locks: tuple[str, ...]
    """Patterns of names; who makes or reads one holds one of them."""
    is_folder: bool = True
    origin: str = ""


_BUILDERS: Final = ("machine-os", "toolbox-*")
_BUILT: Final = re.compile(rf"[a-z0-9-]+-{_KEY}")
_RELEASE: Final = ("release",)
SORTS: Final = (
    Sort("machine-os", "machine-os", re.compile(_KEY), ("machine-os",)),
    Sort(
        "installed",
        "machine-os",
        re.compile(f"root-{_KEY}"),
        ("machine-os",),
        origin="Debian packages, installed",
    ),
    Sort("toolbox", "toolbox", re.compile(_KEY), _BUILDERS, origin="Debian packages, unpacked"),
    Sort("lists", "debian", re.compile(f"apt-{_KEY}"), ("debian",), origin="lists of Debian packages"),
    Sort("package", "debian/debs", re.compile(r"[^/.][^/]*\.deb"), ("debian", *_BUILDERS), is_folder=False),
    Sort("program", "release/programs", _BUILT, _RELEASE, origin="compiled for a release"),
    Sort("layer", "release/layers", _BUILT, _RELEASE, origin="packed for a release"),
    Sort("store", "release", re.compile("store"), _RELEASE, origin="releases that were built"),
    Sort("go", "go", re.compile("modules|build"), _RELEASE, origin="sources and packages of Go"),
    Sort("wheel", "wheels/*", re.compile(r"[^/.][^/]*\.whl"), ("wheels", *_BUILDERS), is_folder=False),
)


def find_made(root: Path) -> Iterator[tuple[Sort, Path]]:
    """All things of all sorts; what has another form is of others."""
    for sort in SORTS:
        for folder in sorted(root.glob(sort.folder)):
            for path in sorted(folder.iterdir()) if folder.is_dir() else ():
                fits = path.is_dir() if sort.is_folder else path.is_file()
                if fits and not path.is_symlink() and sort.name.fullmatch(path.name):
                    yield sort, path


def find_manifest(build: Path) -> dict[str, Any] | None:
    """What a build of the machine OS says of itself."""
    try:
        body = json.loads((build / MANIFEST).read_bytes())
    except (OSError, ValueError):
        return None
    return body if isinstance(body, dict) else None


def find_locks(root: Path, sort: Sort) -> list[Path]:
    """The locks that have to be free before something of this sort goes."""
    folder = root / "locks"
    found = {path for each in sort.locks for path in folder.glob(f"{each}.lock")}
    return sorted({*found, *(folder / f"{each}.lock" for each in sort.locks if "*" not in each)})


def measure(path: Path) -> int:
    """How many bytes of a disk a file or folder takes; what has several names in it counts once."""
    sizes: dict[tuple[int, int], int] = {}
    for each in [path, *(Path(at, name) for at, _, names in os.walk(path) for name in names)]:
        try:
            look = each.lstat()
        except OSError:
            continue  # It went meanwhile.
        sizes[look.st_dev, look.st_ino] = look.st_blocks * 512
    return sum(sizes.values())


def is_open(path: Path, proc: Path = Path("/proc")) -> bool:
    """Whether a process runs a program of a folder, or has a file of it open."""
    start = f"{path.resolve()}{os.sep}"
    return any(target.startswith(start) for target in _open_files(proc))


def _open_files(proc: Path) -> Iterator[str]:
    for process in proc.glob("[0-9]*"):
        try:
            names = [process / "exe", *(process / "fd").iterdir()]
        except OSError:
            continue  # It ended, or is of somebody else.
        for name in names:
            try:
                yield str(name.readlink())
            except OSError:
                continue
