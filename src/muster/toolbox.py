# SPDX-License-Identifier: Apache-2.0
"""Programs of Debian 13 in the cache: what makes media and runs the lab is the same on every machine.

A tree of unpacked packages; nothing is installed. Each program is started by a small script that names the
tree's own loader, libraries and data, so that it neither needs nor minds what the machine has. What the tree
is made of is data: ``toolbox.toml``.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from muster.debian.apt import Package, Wanted
from muster.debian.packages import Fetched, check_space, fetch_packages, open_shelf, unpack_packages
from muster.errors import ExternalError, UserError
from muster.folders import make_folder, mark_cache, remove_parts, start_batch
from muster.frozen import dataclass
from muster.lock import take_lock
from muster.run import Run, run

_SIZE: Final = 450_000_000
"""What the tree takes on a disk, with something to spare."""
_PACKAGES: Final = "packages.json"


@dataclass(frozen=True)
class Setting:
    """What programs of a name need to find their own data."""

    pattern: str
    arguments: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Recipe:
    """What the toolbox of one architecture is made of."""

    wanted: Wanted
    loader: str
    libraries: tuple[str, ...]
    programs: tuple[str, ...]
    settings: tuple[Setting, ...]
    format: int

    @property
    def key(self) -> str:
        """Changes when the tree would."""
        made_of = [
            self.format,
            self.wanted.suite,
            self.wanted.architecture,
            self.wanted.packages,
            self.loader,
        ]
        made_of += [
            self.libraries,
            self.programs,
            [[s.pattern, s.arguments, s.environment] for s in self.settings],
        ]
        return hashlib.sha256(json.dumps(made_of).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Toolbox:
    """A toolbox that is there."""

    tree: Path

    def argv(self, program: str) -> list[str]:
        """How one of its programs is started; its arguments follow."""
        script = self.tree / "programs" / program
        if not script.exists():
            raise ExternalError(f"the toolbox has no {program}", hint=f"remove {self.tree}; it is made again")
        return [str(script)]

    def packages(self) -> list[dict[str, Any]]:
        """What it is made of: boot loaders of it end up on media."""
        found: list[dict[str, Any]] = json.loads(self.path(_PACKAGES).read_bytes())
        return found

    def path(self, name: str) -> Path:
        """A file of it, such as a firmware."""
        path = self.tree / name
        if not path.exists():
            raise ExternalError(f"the toolbox has no {name}", hint=f"remove {self.tree}; it is made again")
        return path


def open_toolbox(
    cache_root: Path,
    *,
    run: Run = run,
    heard: Callable[[str], None] = lambda _line: None,
    fetched: Fetched = lambda _done, _total: None,
) -> Toolbox:
    """The toolbox of this machine; it is made when it is missing, and ``heard`` is told that and why."""
    recipe = load_recipe(os.uname().machine)
    place = cache_root / "toolbox"
    tree = place / recipe.key
    if tree.is_dir():
        with contextlib.suppress(OSError):
            os.utime(tree)  # What was not used for a while is removed.
        return Toolbox(tree)
    make_folder(place)
    mark_cache(cache_root)
    lock = cache_root / "locks" / f"toolbox-{recipe.key}.lock"
    with take_lock(lock, on_wait=lambda pid: heard(f"waiting for process {pid}, which makes the toolbox")):
        if tree.is_dir():
            return Toolbox(tree)
        remove_parts(place)
        heard(f"making the toolbox once, from packages of Debian {recipe.wanted.suite}: {tree}")
        check_space(place, _SIZE, "the toolbox")
        shelf = open_shelf(cache_root, run=run, tell=heard)
        packages = fetch_packages(recipe.wanted, shelf, fetched=fetched)
        with start_batch(place) as batch, batch.new_folder(recipe.key) as folder:
            heard(f"unpacking {len(packages)} packages")
            unpack_packages(packages, shelf, folder)
            _take_privileges(folder)
            _add_scripts(folder, recipe)
            _list_packages(folder, packages)
    return Toolbox(tree)


def load_recipe(machine: str) -> Recipe:
    """What the toolbox is made of on a machine of this kind (as ``uname -m`` says it)."""
    data = _load_data()
    for architecture, own in data["architectures"].items():
        if own["machine"] == machine:
            return _parse_recipe(data, architecture, own)
    known = ", ".join(own["machine"] for own in data["architectures"].values())
    raise UserError(f"there is no toolbox for a machine of kind {machine}", hint=f"there is one for {known}")


@cache
def _load_data() -> dict[str, Any]:
    return tomllib.loads(files("muster").joinpath("toolbox.toml").read_text("utf-8"))


def _parse_recipe(data: Mapping[str, Any], architecture: str, own: Mapping[str, Any]) -> Recipe:
    return Recipe(
        wanted=Wanted(
            packages=tuple(sorted([*data["packages"], *own["packages"]])),
            architecture=architecture,
            suite=data["suite"],
        ),
        loader=own["loader"],
        libraries=tuple(own["libraries"]),
        programs=tuple(sorted([*data["programs"], *own["programs"]])),
        settings=tuple(
            Setting(
                pattern, tuple(each.get("arguments", ())), tuple(sorted(each.get("environment", {}).items()))
            )
            for pattern, each in data["settings"].items()
        ),
        format=data["format"],
    )


def render_script(recipe: Recipe, program: str, place: str) -> str:
    """The script that starts a program, which lies at ``place`` in the tree, with the tree's own loader."""
    settings = [each for each in recipe.settings if fnmatchcase(program, each.pattern)]
    environment = [f'export {name}="{_fill(text, recipe)}"' for s in settings for name, text in s.environment]
    arguments = [f'"{_fill(argument, recipe)}"' for setting in settings for argument in setting.arguments]
    libraries = ":".join(f"$tree/{each}" for each in recipe.libraries)
    command = [
        *("exec", f'"$tree/{recipe.loader}"', "--inhibit-cache", "--library-path", f'"{libraries}"'),
        *(f'"$tree/{place}"', *arguments, '"$@"'),
    ]
    return "\n".join(["#!/bin/sh", 'tree=$(cd "${0%/*}/.." && pwd)', *environment, " ".join(command), ""])


def _fill(text: str, recipe: Recipe) -> str:
    return text.format(tree="$tree", libraries=recipe.libraries[0])


def _add_scripts(tree: Path, recipe: Recipe) -> None:
    folder = tree / "programs"
    folder.mkdir()
    for program in recipe.programs:
        place = next((p for p in (f"usr/bin/{program}", f"usr/sbin/{program}") if (tree / p).exists()), None)
        if place is None:
            raise ExternalError(
                f"Debian's {recipe.wanted.suite} has no {program} where it is expected",
                hint="report it: the toolbox of this version of Muster cannot be made",
            )
        script = folder / program
        script.write_text(render_script(recipe, program, place), "utf-8")
        script.chmod(0o755)


def _list_packages(tree: Path, packages: Iterable[Package]) -> None:
    body = [package.describe() for package in packages]
    (tree / _PACKAGES).write_text(json.dumps(body, indent=2) + "\n", "utf-8")


def _take_privileges(tree: Path) -> None:
    """Nothing in a cache runs as somebody else than who starts it."""
    for folder, _, names in os.walk(tree):
        for name in names:
            path = Path(folder, name)
            mode = path.lstat().st_mode
            if mode & 0o6000 and not path.is_symlink():
                path.chmod(mode & 0o1777)
