# SPDX-License-Identifier: Apache-2.0
"""What the machine OS is made of: the recipe in machine-os/, as data."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from muster.errors import UserError, cannot
from muster.frozen import dataclass


@dataclass(frozen=True)
class Architecture:
    """What differs between kinds of machines."""

    name: str
    debian: str
    kernel: str
    console: str
    efi_name: str
    grub_efi: str
    grub_bios: str
    """Empty where machines have no BIOS."""


@dataclass(frozen=True)
class Hardware:
    """Which machines it runs on: kernel modules that stay, and firmware that comes along."""

    name: str
    modules: tuple[str, ...]
    packages: tuple[str, ...]
    components: tuple[str, ...]


@dataclass(frozen=True)
class Recipe:
    """All of recipe.toml for one kind of machine."""

    home: Path
    architecture: Architecture
    hardware: Hardware
    data: Mapping[str, Any]

    @property
    def packages(self) -> tuple[str, ...]:
        """All packages that are asked for; what they depend on comes along."""
        named = [name for group in self.data["packages"].values() for name in group]
        return tuple(sorted({*named, *self.hardware.packages, self.architecture.kernel}))

    @property
    def components(self) -> tuple[str, ...]:
        return (*self.data["debian"]["components"], *self.hardware.components)

    @property
    def suite(self) -> str:
        suite: str = self.data["debian"]["suite"]
        return suite

    def digest(self) -> str:
        """Changes with anything that the recipe says."""
        whole = hashlib.sha256(f"{self.architecture.name} {self.hardware.name}\n".encode())
        for path in sorted(_files(self.home)):
            whole.update(f"{path.relative_to(self.home)} {plain_mode(path):o}\n".encode())
            whole.update(hashlib.sha256(path.read_bytes()).digest())
        return whole.hexdigest()


def plain_mode(path: Path) -> int:
    """The mode that something of the recipe has on the machine OS, whatever the umask of its clone was."""
    return 0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644


def find_home() -> Path:
    """Where the recipe is: in the package, or beside the sources of a clone."""
    package = Path(__file__).parent
    for home in (package / "recipe", package.parents[2] / "machine-os"):
        if (home / "recipe.toml").is_file():
            return home
    raise UserError(
        "the recipe of the machine OS (machine-os/recipe.toml) is not there",
        hint="install Muster as a whole, or run it from its clone",
    )


def load_recipe(home: Path, architecture: str, hardware: str) -> Recipe:
    """The recipe for machines of one architecture and range of hardware."""
    try:
        data = tomllib.loads((home / "recipe.toml").read_text("utf-8"))
    except OSError as error:
        raise cannot("read", home / "recipe.toml", error) from error
    kind = _choose(data["architecture"], architecture, "architecture")
    parts = _choose(data["hardware"], hardware, "hardware")
    return Recipe(
        home,
        Architecture(name=architecture, **kind),
        Hardware(hardware, **{name: tuple(values) for name, values in parts.items()}),
        data,
    )


def _choose(table: Mapping[str, Any], name: str, what: str) -> Mapping[str, Any]:
    if name not in table:
        raise UserError(f"there is no {what} {name!r}", hint=f"choose one of: {', '.join(table)}")
    chosen: Mapping[str, Any] = table[name]
    return chosen


def _files(home: Path) -> Iterator[Path]:
    return (path for path in home.rglob("*") if path.is_file() and path.suffix != ".md")
