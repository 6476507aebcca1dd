# SPDX-License-Identifier: Apache-2.0
"""What is to be built, by name: a key stands for all that something is made of, and changes with it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from muster.errors import cannot
from muster.frozen import dataclass
from muster.release.build.golang import ANY, compile_argv, environment
from muster.release.build.layers import LEVEL
from muster.release.build.recipe import Picture, Program, Recipe
from muster.release.build.sources import SOURCES

_FORM: Final = 1
"""Changes when something else is made of the same."""


@dataclass(frozen=True)
class Wanted:
    """A program or a layer that has to be there, and what it is kept as."""

    program: Program
    architecture: str
    """`ANY` for what is the same for all."""
    name: str
    """Its program, its architecture and its key."""


@dataclass(frozen=True)
class Plan:
    """All that a release consists of, before any of it is made."""

    recipe: Recipe
    architecture: str
    go: str
    zstd: str
    programs: tuple[Wanted, ...]
    layers: tuple[Wanted, ...]

    def layer(self, program: str) -> Wanted:
        return next(layer for layer in self.layers if layer.program.id == program)

    def tag(self, picture: Picture) -> str:
        """The tag of an image."""
        return f"{self.recipe.part(picture.component).version}-{self.architecture}"


def make_plan(recipe: Recipe, architecture: str, go: str, zstd: str) -> Plan:
    """Look at the sources, and name what they give. ``go`` and ``zstd`` are versions."""
    programs = tuple(_wanted_program(each, architecture, go) for each in recipe.programs)
    layers = tuple(
        Wanted(each.program, each.architecture, _name(each.program, each.architecture, layer_key(each, zstd)))
        for each in programs
    )
    return Plan(recipe, architecture, go, zstd, programs, layers)


def _wanted_program(program: Program, architecture: str, go: str) -> Wanted:
    own = ANY if program.prints else architecture
    return Wanted(program, own, _name(program, own, program_key(program, own, go)))


def program_key(program: Program, architecture: str, go: str) -> str:
    """Names a program: its sources, the compiler, and how that is called."""
    return _key(
        {
            "go": go,
            "argv": [str(each) for each in compile_argv(program, Path("program"), 1)],
            "environment": environment(architecture),
            "overlay": dict(program.overlay),
            "prints": program.prints,
            "sources": dict(_sources(program.folder)),
        }
    )


def layer_key(program: Wanted, zstd: str) -> str:
    """Names the layer of a program."""
    return _key({"program": program.name, "links": program.program.links, "zstd": zstd, "level": LEVEL})


def _sources(folder: Path) -> Iterator[tuple[str, str]]:
    """All that Go reads of a folder, by name, and what it hashes to."""
    try:
        for path in sorted(folder.rglob("*")):
            if path.suffix in SOURCES and path.is_file():
                yield str(path.relative_to(folder)), hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise cannot("read", folder, error) from error


def _name(program: Program, architecture: str, key: str) -> str:
    return f"{program.id}-{architecture}-{key}"


def _key(body: object) -> str:
    return hashlib.sha256(json.dumps([_FORM, body], sort_keys=True).encode()).hexdigest()[:16]
