# SPDX-License-Identifier: Apache-2.0
"""Whether all programs of the machine OS find their shared libraries: what was taken out may be needed.

Without this, a program that cannot start is found on a machine, by whoever needs it there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from muster.errors import ExternalError
from muster.frozen import dataclass
from muster.machine_os.elf import DamagedElf, Linked, load_elf
from muster.machine_os.needs import closure

_ALWAYS: Final = ("/lib", "/usr/lib", "/lib64", "/usr/lib64")
_SHOWN: Final = 20
_PROGRAMS: Final = 3
_LINKS: Final = 40


@dataclass(frozen=True)
class Missing:
    """A program or library that will not be loaded, and what it lacks."""

    path: str
    library: str
    programs: tuple[str, ...] = ()
    """Who does not start because of it, where it is a library itself."""

    def render(self) -> str:
        return f"/{self.path} needs {self.library}{self._render_programs()}"

    def _render_programs(self) -> str:
        if not self.programs:
            return ""
        names = [f"/{path}" for path in self.programs[:_PROGRAMS]]
        more = [f"{len(self.programs) - _PROGRAMS} more"] if len(self.programs) > _PROGRAMS else []
        return f" (so {', '.join([*names, *more])} will not start)"


def check_libraries(root: Path) -> None:
    """Refuse a root file system in which something cannot be loaded, and say what and why."""
    found = find_missing(load_linked(root), lambda path: is_there(root, path), load_places(root))
    if found:
        more = [f"and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
        lines = [*(each.render() for each in found[:_SHOWN]), *more]
        raise ExternalError(
            f"programs of the machine OS lack what they are linked with: {'; '.join(lines)}",
            hint="recipe.toml: take the library out of [tree] remove, or add the program to it",
        )


def find_missing(
    linked: Mapping[str, Linked | None], is_there: Callable[[str], bool], places: tuple[str, ...]
) -> list[Missing]:
    """What cannot be loaded, of files by their path below the root; None is a damaged one."""
    found = []
    for path, each in sorted(linked.items()):
        if each is None:
            found.append(Missing(path, "to be whole: it is damaged"))
            continue
        if each.interpreter and not is_there(each.interpreter):
            found.append(Missing(path, each.interpreter))
        looked = (*_own_places(path, each), *places)
        for library in each.needed:
            names = [library] if "/" in library else [f"{place}/{library}" for place in looked]
            if not any(is_there(name) for name in names):
                found.append(Missing(path, library, _find_programs(linked, each.name)))
    return found


def _find_programs(linked: Mapping[str, Linked | None], name: str) -> tuple[str, ...]:
    """Programs that load a library, themselves or through others."""
    needs = {each.name: each.needed for each in linked.values() if each and each.name}
    return tuple(
        path
        for path, each in sorted(linked.items())
        if each and each.interpreter and name in closure(needs, each.needed)
    )


def _own_places(path: str, linked: Linked) -> Iterator[str]:
    folder = f"/{PurePosixPath(path).parent}"
    for place in linked.places:
        yield place.replace("${ORIGIN}", folder).replace("$ORIGIN", folder)
    if not linked.interpreter:
        yield folder  # Who loads a private library knows its folder, and loaded its neighbours from there.


def load_linked(root: Path) -> dict[str, Linked | None]:
    """All ELF files below a root, by their path; links are other names of the same, and left out."""
    found: dict[str, Linked | None] = {}
    for path in _files(root):
        name = str(path.relative_to(root))
        try:
            linked = load_elf(path)
        except DamagedElf:
            found[name] = None
        else:
            if linked is not None:
                found[name] = linked
    return found


def _files(root: Path) -> Iterator[Path]:
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder, name)
            if path.is_file() and not path.is_symlink():
                yield path


def load_places(root: Path) -> tuple[str, ...]:
    """Where the loader looks: what ld.so.conf.d names, and what it always knows."""
    named = []
    for path in sorted((root / "etc/ld.so.conf.d").glob("*.conf")):
        lines = (line.partition("#")[0].strip() for line in path.read_text("utf-8").splitlines())
        named += [line for line in lines if line]
    return (*named, *_ALWAYS)


def is_there(root: Path, name: str) -> bool:
    """Whether a path leads to a file once the root is the root: links are followed in it, never out of it."""
    waiting = list(PurePosixPath(name).parts)[::-1]
    place, links = root, 0
    while waiting:
        part = waiting.pop()
        if part in ("/", ".."):
            place = root if part == "/" or place == root else place.parent
            continue
        place /= part
        if place.is_symlink():
            links += 1
            if links > _LINKS:
                return False
            waiting += PurePosixPath(place.readlink()).parts[::-1]
            place = place.parent
    return place.is_file()
