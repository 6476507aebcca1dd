# SPDX-License-Identifier: Apache-2.0
"""Which packages are needed, and getting them, once for everybody, into one folder of the cache.

debian/debs/                packages, named and hashed as in Debian's signed lists; partial/ can go on
debian/apt-<key>/           an apt of our own for one release, mirror and architecture
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from muster.debian.apt import (
    FOLDERS,
    KEYRING,
    Package,
    Wanted,
    download_argv,
    explain_failure,
    find_percent,
    parse_packages,
    render_config,
    render_sources,
    resolve_argv,
)
from muster.debian.mirror import SECURITY_VARIABLE, Mirror, find_mirror
from muster.errors import ExternalError
from muster.files import remove_file, save_file
from muster.folders import make_folder, mark_cache
from muster.frozen import dataclass
from muster.lock import take_lock
from muster.run import Circumstances, Run, find_program, run

FRESH_S: Final = 24 * 3600
"""How long the archive's lists are believed without asking again."""

Fetched = Callable[[int, int], None]
"""Told how many bytes are there, and how many there will be."""


@dataclass(frozen=True)
class Shelf:
    """Where packages are kept, and where they come from."""

    cache_root: Path
    mirror: Mirror
    run: Run = run
    tell: Callable[[str], None] = lambda _line: None
    clock: Callable[[], float] = time.time

    @property
    def folder(self) -> Path:
        return self.cache_root / "debian"

    @property
    def debs(self) -> Path:
        return self.folder / "debs"

    def path(self, package: Package) -> Path:
        """Where a package is once it was fetched."""
        return self.debs / package.file_name


def open_shelf(
    cache_root: Path, *, run: Run = run, tell: Callable[[str], None] = lambda _line: None
) -> Shelf:
    """The shelf of this machine, filled from the mirror that it uses."""
    mirror = find_mirror(os.environ)
    if not mirror.security:
        tell(f"no mirror of Debian's security updates is used; {SECURITY_VARIABLE} names one")
    return Shelf(cache_root, mirror, run, tell)


def fetch_packages(
    wanted: Wanted, shelf: Shelf, *, fetched: Fetched = lambda _done, _total: None
) -> tuple[Package, ...]:
    """The packages that are wanted and what they depend on, all of them on the shelf with their right hash.

    They are sorted, and the same whenever Debian's lists are: a list of them is a good key.
    """
    _check_machine()
    apt = _Apt(wanted, shelf)
    make_folder(shelf.folder)
    mark_cache(shelf.cache_root)
    with take_lock(shelf.cache_root / "locks" / "debian.lock", on_wait=lambda pid: shelf.tell(_waits(pid))):
        was_fresh = apt.refresh()
        try:
            return apt.fetch(fetched)
        except ExternalError as error:
            if not was_fresh:
                raise explain_failure(error, wanted, shelf.mirror) from error
        # Lists of yesterday may name packages that are no longer there.
        apt.refresh(always=True)
        try:
            return apt.fetch(fetched)
        except ExternalError as error:
            raise explain_failure(error, wanted, shelf.mirror) from error


def _check_machine() -> None:
    for program in ("apt-get", "dpkg-deb"):
        if find_program(program) is None:
            raise ExternalError(
                f"Debian packages are needed, and there is no {program} on this machine",
                hint="run this on Debian or Ubuntu, or in a container of one of them",
            )
    if not KEYRING.exists():
        raise ExternalError(
            f"there is no {KEYRING}, by which Debian's packages are verified",
            hint="apt-get install debian-archive-keyring",
        )


def _waits(pid: str) -> str:
    return f"waiting for another muster{f' (process {pid})' if pid else ''} that fetches packages"


class _Apt:
    """An apt of our own for one release, mirror and architecture."""

    def __init__(self, wanted: Wanted, shelf: Shelf) -> None:
        self._wanted = wanted
        self._shelf = shelf
        self._sources = render_sources(wanted, shelf.mirror)
        key = hashlib.sha256(f"{wanted.architecture}\n{self._sources}".encode()).hexdigest()[:16]
        self._root = shelf.folder / f"apt-{key}"
        self._stamp = self._root / "updated"

    def refresh(self, *, always: bool = False) -> bool:
        """Get the archive's lists unless they are fresh; whether they were."""
        self._make()
        if not always and self._is_fresh():
            return True
        self._shelf.tell(f"asking {self._shelf.mirror.archive} for its list of packages")
        try:
            self._run(["apt-get", "update", "-q"])
        except ExternalError as error:
            raise explain_failure(error, self._wanted, self._shelf.mirror) from error
        save_file(self._stamp, b"")
        return False

    def fetch(self, fetched: Fetched) -> tuple[Package, ...]:
        packages = parse_packages(self._run(resolve_argv(self._wanted, self._root / "none")))
        missing = [package for package in packages if not _is_whole(self._shelf.path(package), package)]
        if missing:
            total = sum(package.size for package in missing)
            check_space(self._shelf.debs, total, "packages")
            self._shelf.tell(f"fetching {len(missing)} of {len(packages)} packages, {total / 1e6:.0f} MB")
            self._download(packages, missing, fetched)
        for package in packages:
            with contextlib.suppress(OSError):
                os.utime(self._shelf.path(package))  # What was not used for a while is removed.
        return packages

    def _download(self, packages: Sequence[Package], missing: Sequence[Package], fetched: Fetched) -> None:
        total = sum(package.size for package in missing)

        def hear(line: str) -> None:
            percent = find_percent(line)
            if percent is not None:
                fetched(int(total * percent / 100), total)

        for package in missing:
            remove_file(self._shelf.path(package))  # Of the right name, but not of the right hash.
        self._run(download_argv(packages), heard=hear)
        wrong = [each for each in missing if not _is_whole(self._shelf.path(each), each)]
        if wrong:
            raise ExternalError(f"{wrong[0].file_name} is not what Debian's list says", hint="run it again")
        fetched(total, total)

    def _run(self, argv: list[str], heard: Callable[[str], None] | None = None) -> str:
        env = {"APT_CONFIG": str(self._root / "apt.conf"), "LC_ALL": "C.UTF-8"}
        return self._shelf.run(argv, heard=heard, circumstances=Circumstances(env=env))

    def _is_fresh(self) -> bool:
        try:
            return 0 <= self._shelf.clock() - self._stamp.stat().st_mtime < FRESH_S
        except FileNotFoundError:
            return False

    def _make(self) -> None:
        for folder in (*(self._root / each for each in FOLDERS), self._root / "none" / "partial"):
            make_folder(folder)
        make_folder(self._shelf.debs / "partial")
        machine = self._shelf.run(["apt-config", "dump"])
        config = render_config(self._root, self._shelf.debs, self._wanted, machine)
        texts = {"apt.conf": config, "etc/apt/sources.list": self._sources, "var/lib/dpkg/status": ""}
        for name, text in texts.items():
            _save_changed(self._root / name, text.encode())


def _save_changed(path: Path, data: bytes) -> None:
    """Files that stay as they are let apt use what it made of them."""
    if not path.exists() or path.read_bytes() != data:
        save_file(path, data)


def _is_whole(path: Path, package: Package) -> bool:
    try:
        if path.stat().st_size != package.size:
            return False
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == package.sha256
    except FileNotFoundError:
        return False


def check_space(folder: Path, needed: int, what: str) -> None:
    """Say before the work that there is no room for its result."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise ExternalError(
            f"{what} need {needed / 1e6:.0f} MB in {folder}, where {free / 1e6:.0f} MB are free",
            hint="free some space, or name another place with --cache-dir",
        )


def unpack_packages(packages: Iterable[Package], shelf: Shelf, tree: Path) -> None:
    """Unpack packages into a folder; nothing of them is run."""
    for package in packages:
        shelf.run(["dpkg-deb", "--extract", shelf.path(package), tree])
