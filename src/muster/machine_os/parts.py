# SPDX-License-Identifier: Apache-2.0
"""What of the machine OS does not come from Debian: coreos-installer, and Muster with what it depends on."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Final

from muster.errors import ExternalError, UserError
from muster.folders import make_folder
from muster.machine_os.build import Parts
from muster.machine_os.papers import hash_file
from muster.machine_os.recipe import Recipe
from muster.run import Run, find_program

INSTALLER: Final = "coreos-installer-0.27.0"
_PLATFORMS: Final = ("manylinux_2_34", "manylinux_2_28", "manylinux2014")


def find_parts(recipe: Recipe, cache_root: Path, installer: Path | None, *, run: Run) -> Parts:
    """All of them; the packages of Muster's lock file are fetched once, for the Python of the machine OS."""
    return Parts(
        _find_installer(installer or cache_root / INSTALLER),
        _find_package("muster"),
        _find_package("muster_native"),
        _fetch_wheels(recipe, cache_root, run),
    )


def _find_installer(home: Path) -> Path:
    for name in (
        "bin/coreos-installer",
        "systemd/coreos-installer.service",
        "scripts/coreos-installer-service",
    ):
        if not (home / name).is_file():
            raise UserError(
                f"coreos-installer is not built: there is no {home / name}",
                hint="bin/setup of Muster's clone builds it; or name its folder with --coreos-installer",
            )
    return home


def _find_package(name: str) -> Path:
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise ExternalError(f"the Python package {name} is not there", hint="install Muster as a whole")
    return Path(spec.origin).parent


def _fetch_wheels(recipe: Recipe, cache_root: Path, run: Run) -> tuple[Path, ...]:
    """Exactly those of requirements.txt: versions and hashes are those of the lock file."""
    folder = cache_root / "wheels" / recipe.architecture.name
    make_folder(folder)
    requirements = recipe.home / "requirements.txt"
    text = requirements.read_text("utf-8")
    found = choose_wheels(folder, text)
    if len(found) == text.count("=="):
        return found
    run(
        [
            *(_find_pip(cache_root), "download", "--quiet", "--disable-pip-version-check", "--no-deps"),
            *(
                "--require-hashes",
                "--only-binary=:all:",
                "--python-version",
                recipe.data["python"]["version"],
            ),
            *(f"--platform={each}_{recipe.architecture.name}" for each in _PLATFORMS),
            *("--dest", folder, "--requirement", requirements),
        ]
    )
    return choose_wheels(folder, text)


def choose_wheels(folder: Path, requirements: str) -> tuple[Path, ...]:
    """Those that the requirements name by their hash; others may lie beside them."""
    return tuple(path for path in sorted(folder.glob("*.whl")) if hash_file(path) in requirements)


def _find_pip(cache_root: Path) -> str:
    for path in (*sorted(cache_root.glob("uv-*/bin/pip")), find_program("pip"), find_program("pip3")):
        if path is not None:
            return str(path)
    raise ExternalError("there is no pip on this machine", hint="apt-get install python3-pip")
