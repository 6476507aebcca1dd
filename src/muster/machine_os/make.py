# SPDX-License-Identifier: Apache-2.0
"""Making the machine OS: what is there is used, and nothing is seen before it is whole.

machine-os/<key>/            a finished build: live.iso, metal.raw, manifest.json, ...
machine-os/root-<key>/       packages, installed; several builds start from it
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from muster.debian.apt import Package, Wanted
from muster.debian.packages import Fetched, Shelf, check_space, fetch_packages
from muster.errors import UserError
from muster.folders import make_folder, remove_parts, start_batch
from muster.frozen import dataclass
from muster.lock import take_lock
from muster.machine_os.build import Build, Parts
from muster.machine_os.keeping import forget_old
from muster.machine_os.papers import hash_file
from muster.machine_os.parts import INSTALLER_FOLDERS, hash_folder
from muster.machine_os.recipe import Recipe
from muster.machine_os.root import EXCLUDED
from muster.machine_os.steps import ROOT, STEPS, Step
from muster.run import Run, find_program, run
from muster.toolbox import Toolbox

EPOCH: Final = 1767225600
"""The beginning of 2026: what is made is as old as that, whenever it is made."""
_ROOM: Final = 4_000_000_000
_RESULTS: Final = ("live.iso", "metal.raw", "vmlinuz", "initrd.img", "manifest.json")


@dataclass(frozen=True)
class Means:
    """What a build is made with."""

    cache_root: Path
    toolbox: Toolbox
    shelf: Shelf
    run: Run = run
    tell: Callable[[str], None] = lambda _line: None
    """Told what goes on, in words."""
    fetched: Fetched = lambda _done, _total: None
    began: Callable[[Step], None] = lambda _step: None
    """Told when a step begins."""
    clock: Callable[[], float] = time.time


def make_machine_os(recipe: Recipe, parts: Parts, means: Means) -> Path:
    """The folder of a finished build of this recipe, made if it is not there."""
    _check_machine(recipe.architecture.name)
    wanted = Wanted(
        ("?essential", *recipe.packages),
        architecture=recipe.architecture.debian,
        suite=recipe.suite,
        components=recipe.components,
    )
    packages = fetch_packages(wanted, means.shelf, fetched=means.fetched)
    key = build_key(recipe, packages, parts, means.toolbox)
    place = means.cache_root / "machine-os"
    if (place / key).is_dir():
        return _used(place / key)
    make_folder(place)
    lock = means.cache_root / "locks" / "machine-os.lock"
    with take_lock(
        lock, on_wait=lambda pid: means.tell(f"waiting for process {pid}, which builds the machine OS")
    ):
        if not (place / key).is_dir():
            remove_parts(place)
            check_space(place, _ROOM, "the machine OS and its parts")
            plan = Build(recipe, packages, parts, key, EPOCH, place, means.toolbox, means.shelf, means.run)
            _make(plan, means)
            forget_old(place, key, means.clock())
    return _used(place / key)


def build_key(recipe: Recipe, packages: Iterable[Package], parts: Parts, toolbox: Toolbox) -> str:
    """Names what comes out: it changes when that does."""
    body = {
        "recipe": recipe.digest(),
        "packages": [package.sha256 for package in packages],
        "toolbox": [package["sha256"] for package in toolbox.packages()],
        "coreos-installer": [hash_folder(parts.coreos_installer / name) for name in INSTALLER_FOLDERS],
        "muster": [hash_folder(parts.muster), hash_folder(parts.native)],
        "wheels": [hash_file(path) for path in parts.wheels],
    }
    return hashlib.sha256(json.dumps(body).encode()).hexdigest()[:16]


def _make(plan: Build, means: Means) -> None:
    place = plan.work
    root = _installed_root(plan, means)
    with start_batch(place) as batch, batch.new_folder(plan.key) as folder:
        build = plan.but(work=folder)
        plan.call(["cp", "--archive", "--reflink=auto", root, build.root])
        for step in STEPS:
            means.began(step)
            step.act(build)
        for path in folder.iterdir():
            if path.name not in _RESULTS:
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def _installed_root(plan: Build, means: Means) -> Path:
    """The packages, installed: the longest part, and the same for many builds."""
    made_of = [plan.recipe.suite, plan.recipe.packages, EXCLUDED, [each.sha256 for each in plan.packages]]
    key = hashlib.sha256(json.dumps(made_of).encode()).hexdigest()[:16]
    root = plan.work / f"root-{key}"
    if not root.is_dir():
        with start_batch(plan.work) as batch, batch.new_folder(root.name) as folder:
            means.began(ROOT)
            ROOT.act(plan.but(work=folder))
    return _used(root) / "root"


def _used(folder: Path) -> Path:
    """Remember when something was last used: what was not for a while is removed."""
    with contextlib.suppress(OSError):
        os.utime(folder)
    return folder


def _check_machine(architecture: str) -> None:
    if architecture != os.uname().machine:
        raise UserError(
            f"this machine is of kind {os.uname().machine}, and builds no machine OS for {architecture}",
            hint=f"run it on a machine of kind {architecture}, or leave --arch out",
        )
    if os.geteuid() != 0:
        raise UserError(
            "the machine OS is built by root: packages are installed in a root file system of their own",
            hint="run it with sudo; a finished ISO can be used by everybody",
        )
    for program, package in (("mmdebstrap", "mmdebstrap"), ("chroot", "coreutils")):
        if find_program(program) is None:
            raise UserError(f"there is no {program} on this machine", hint=f"apt-get install {package}")
