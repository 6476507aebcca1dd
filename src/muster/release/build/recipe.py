# SPDX-License-Identifier: Apache-2.0
"""What a Kubernetes release is made of: payload/release.toml and the add-ons beside it, as data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from muster.errors import UserError
from muster.frozen import dataclass
from muster.release.model import Condition, Needs

ARCHITECTURES: Final = ("amd64", "arm64")


@dataclass(frozen=True)
class Program:
    """Something that Go compiles."""

    id: str
    folder: Path
    """Where its go.mod is."""
    package: str
    links: tuple[str, ...]
    """Other names that it goes by."""
    tags: tuple[str, ...]
    variables: Mapping[str, str]
    """What the linker writes into it."""
    overlay: Mapping[str, str]
    """Files of modules, and those of its folder that stand in for them."""
    prints: str
    """A file that it prints when it runs; then that is what images have, and not the program."""
    seconds: int


@dataclass(frozen=True)
class Part:
    """A component, before it is built."""

    id: str
    name: str
    version: str
    program: str
    licence: str
    module: str
    source: str
    changes: str


@dataclass(frozen=True)
class Picture:
    """An image, before it is built."""

    id: str
    component: str
    """Whose version it has."""
    description: str
    layers: tuple[str, ...]
    """Programs, each in a layer of its own."""
    entrypoint: tuple[str, ...]
    user: str


@dataclass(frozen=True)
class Extra:
    """An add-on, before it is built."""

    id: str
    name: str
    version: str
    bundle: str
    description: str
    images: tuple[str, ...]
    manifests: tuple[Path, ...]
    host: Needs
    cluster: Needs
    dependencies: tuple[str, ...]
    conflicts: tuple[str, ...]
    ready: tuple[Condition, ...]


@dataclass(frozen=True)
class Toolchain:
    """The Go that it is built with."""

    minimum: str
    toolchain: str
    """The one that is got where there is none."""


@dataclass(frozen=True)
class Recipe:
    """All of it, or of what was chosen."""

    home: Path
    kind: str
    version: str
    registry: str
    repository: str
    created: str
    go: Toolchain
    programs: tuple[Program, ...]
    parts: tuple[Part, ...]
    pictures: tuple[Picture, ...]
    extras: tuple[Extra, ...]

    def program(self, id: str) -> Program:
        return next(program for program in self.programs if program.id == id)

    def part(self, id: str) -> Part:
        return next(part for part in self.parts if part.id == id)

    def image_name(self, id: str) -> str:
        """Registry and repository of an image."""
        return f"{self.registry}/{self.repository}/{id}"

    def release_name(self, architecture: str) -> str:
        """What the release for some machines is called, with its tag."""
        return f"{self.image_name('release')}:{self.version}-{architecture}"


def find_home() -> Path:
    """Where the recipe is: in the package, or beside the sources of a clone."""
    package = Path(__file__).parent
    for home in (package / "payload", package.parents[3] / "payload"):
        if (home / "release.toml").is_file():
            return home
    raise UserError(
        "what a release is built from (payload/release.toml) is not there",
        hint="install Muster as a whole, or run it from its clone",
    )


def choose_images(recipe: Recipe, ids: Iterable[str]) -> Recipe:
    """The recipe of some images alone, with no add-ons: what they need, and nothing else."""
    wanted = set(ids)
    pictures = tuple(each for each in recipe.pictures if each.id in wanted)
    layers = {layer for each in pictures for layer in each.layers}
    return replace(
        recipe,
        programs=tuple(each for each in recipe.programs if each.id in layers),
        parts=tuple(each for each in recipe.parts if each.program in layers),
        pictures=pictures,
        extras=(),
    )
