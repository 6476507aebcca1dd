# SPDX-License-Identifier: Apache-2.0
"""Making a release: what is kept is used, what is missing is made, and all of it goes into a store.

    fetch       the modules of a program
    compile     the program
    pack        its layer
    put         images and the release itself into the store, under their names

Names appear last and together: a store never promises what it has not.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from muster.debian.packages import check_space
from muster.errors import cannot
from muster.frozen import dataclass
from muster.lock import take_lock
from muster.release.build.golang import Go
from muster.release.build.images import Made
from muster.release.build.kept import Built, Kept, Packed, save_layer, save_program
from muster.release.build.layers import Entry, write_layer
from muster.release.build.modules import load_sums, parse_build_info
from muster.release.build.plan import Plan, Wanted
from muster.release.build.sources import prepare_sources
from muster.release.build.whole import Whole, put_together
from muster.release.oci.digest import Digest
from muster.release.store.blobs import CHUNK
from muster.release.store.store import Store
from muster.run import Circumstances

_FETCH_S: Final = 10
_PACK_SHARE: Final = 6
"""Packing a program takes so much less time than compiling it."""
_ROOM_PER_S: Final = 10_000_000
"""How much is written while a program is compiled."""


@dataclass(frozen=True)
class Step:
    """Something that takes a while."""

    what: str
    seconds: int


@dataclass(frozen=True)
class Means:
    """What a release is made with."""

    cache_root: Path
    go: Go
    store: Store
    tell: Callable[[str], None] = lambda _line: None
    """Told what goes on, in words."""
    expect: Callable[[tuple[Step, ...]], None] = lambda _steps: None
    """Told what there is to do, before it begins."""
    began: Callable[[Step], None] = lambda _step: None
    clock: Callable[[], float] = time.time


def make_release(plan: Plan, means: Means) -> Whole:
    """A release in the store, and its images; nothing is made that is there."""
    kept = Kept(means.cache_root)
    lock = means.cache_root / "locks" / "release.lock"
    try:
        held = take_lock(
            lock, on_wait=lambda pid: means.tell(f"waiting for process {pid}, which builds a release")
        )
    except OSError as error:
        raise cannot("write", lock, error) from error
    with held:
        kept.open()
        _used(means.go.place / "modules", means.go.place / "build", means.store.root)
        work = _Work(plan, means, kept)
        means.expect(tuple(work.steps()))
        programs = {wanted.program.id: work.program(wanted) for wanted in plan.programs}
        layers = {wanted.program.id: work.layer(wanted, programs) for wanted in plan.layers}
        whole = put_together(plan, programs, layers)
        _put(means.store, whole, layers)
        used = frozenset(wanted.name for wanted in (*plan.programs, *plan.layers))
        kept.forget_old(used, means.clock())
    return whole


class _Work:
    """What one build does, step by step."""

    def __init__(self, plan: Plan, means: Means, kept: Kept) -> None:
        self._plan, self._means, self._kept = plan, means, kept

    def steps(self) -> Iterator[Step]:
        """What is missing."""
        for wanted in self._plan.programs:
            if self._kept.find_program(wanted.name) is None:
                yield _fetching(wanted)
                yield _compiling(wanted)
        for wanted in self._plan.layers:
            if self._kept.find_layer(wanted.name) is None:
                yield _packing(wanted)

    def program(self, wanted: Wanted) -> Built:
        found = self._kept.find_program(wanted.name)
        if found is not None:
            return found
        program, go = wanted.program, self._means.go
        check_space(self._means.cache_root, program.seconds * _ROOM_PER_S, f"the packages of {program.id}")
        with self._kept.new_program(wanted.name) as folder:
            built = folder / program.id
            self._means.began(_fetching(wanted))
            with prepare_sources(program, go, folder) as sources:
                go.fetch(program, wanted.architecture, sources)
                self._means.began(_compiling(wanted))
                go.compile(program, wanted.architecture, sources, built)
            modules = parse_build_info(go.read_build_info(built), go.modules, load_sums(program.folder))
            if program.prints:
                built.write_text(go.run([built], circumstances=Circumstances(cwd=folder)) + "\n", "utf-8")
                built.chmod(0o644)
            save_program(folder, program.id, _hash(built), modules)
        found = self._kept.find_program(wanted.name)
        assert found is not None
        return found

    def layer(self, wanted: Wanted, programs: dict[str, Built]) -> Packed:
        found = self._kept.find_layer(wanted.name)
        if found is not None:
            return found
        self._means.began(_packing(wanted))
        with self._kept.new_layer(wanted.name) as folder:
            path = folder / "layer.tar.zst"
            with path.open("wb") as file:
                layer = write_layer(entries_of(wanted, programs[wanted.program.id].path), file)
            save_layer(folder, path.name, layer)
        found = self._kept.find_layer(wanted.name)
        assert found is not None
        return found


def entries_of(wanted: Wanted, built: Path) -> list[Entry]:
    """What the layer of a program holds: the program and its links, or what it printed."""
    program = wanted.program
    if program.prints:
        return [Entry(program.prints, built)]
    links = [Entry(f"usr/bin/{name}", link=program.id, mode=0o777) for name in program.links]
    return [Entry(f"usr/bin/{program.id}", built, mode=0o755), *links]


def _put(store: Store, whole: Whole, layers: dict[str, Packed]) -> None:
    with store.shared():
        for packed in layers.values():
            _put_layer(store, packed)
        for made in (*whole.images.values(), whole.own):
            _put_small(store, made)
        store.blobs.put(whole.own_layer)
        store.name(whole.names)


def _put_layer(store: Store, packed: Packed) -> None:
    blob = packed.layer.blob
    if store.blobs.size(blob.digest) == blob.size_bytes:
        return
    with store.blobs.receive(blob.digest, blob.size_bytes) as incoming:
        try:
            with packed.path.open("rb") as file:
                file.seek(incoming.offset)
                while not incoming.is_here and (chunk := file.read(CHUNK)):
                    incoming.write(chunk)
        except OSError as error:
            raise cannot("read", packed.path, error) from error
        incoming.finish()


def _put_small(store: Store, made: Made) -> None:
    store.blobs.put(made.config)
    store.blobs.put(made.manifest.data)


def _used(*folders: Path) -> None:
    """Remember when something was last used: what was not for a while is removed from the cache."""
    for folder in folders:
        with contextlib.suppress(OSError):
            os.utime(folder)


def _hash(path: Path) -> Digest:
    with path.open("rb") as file:
        return Digest(f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}")


def _fetching(wanted: Wanted) -> Step:
    return Step(f"fetching the modules of {wanted.program.id}", _FETCH_S)


def _compiling(wanted: Wanted) -> Step:
    return Step(f"compiling {wanted.program.id}", wanted.program.seconds)


def _packing(wanted: Wanted) -> Step:
    return Step(f"packing {wanted.program.id}", 1 + wanted.program.seconds // _PACK_SHARE)
