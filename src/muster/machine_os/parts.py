# SPDX-License-Identifier: Apache-2.0
"""What of the machine OS does not come from Debian: coreos-installer, and Muster with what it depends on."""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from muster.errors import ExternalError, UserError
from muster.folders import make_folder
from muster.lock import take_lock
from muster.machine_os.build import Parts
from muster.machine_os.papers import hash_file
from muster.machine_os.recipe import Recipe
from muster.run import Run, find_program

INSTALLER: Final = "coreos-installer-0.27.0"
INSTALLER_FOLDERS: Final = ("bin", "scripts", "systemd")
"""What of it goes onto the machine OS."""
REQUIREMENTS: Final = "requirements.txt"
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
    text = (recipe.home / REQUIREMENTS).read_text("utf-8")
    found = choose_wheels(folder, text)
    if len(found) == count_requirements(text):
        return found
    with take_lock(cache_root / "locks" / "wheels.lock", on_wait=lambda _pid: None):
        _download_wheels(recipe, folder, _find_pip(cache_root), run)
    return choose_wheels(folder, text)


def _download_wheels(recipe: Recipe, folder: Path, pip: str, run: Run) -> None:
    run(
        [
            *(pip, "download", "--quiet", "--disable-pip-version-check", "--no-deps"),
            *(
                "--require-hashes",
                "--only-binary=:all:",
                "--python-version",
                recipe.data["python"]["version"],
            ),
            *(f"--platform={each}_{recipe.architecture.name}" for each in _PLATFORMS),
            *("--dest", folder, "--requirement", recipe.home / REQUIREMENTS),
        ]
    )


def count_requirements(text: str) -> int:
    """How many packages a requirements file asks for."""
    return len(re.findall(r"^[\w.-]+==", text, re.MULTILINE))


def choose_wheels(folder: Path, requirements: str) -> tuple[Path, ...]:
    """Those that the requirements name by their hash; others may lie beside them."""
    chosen = [path for path in sorted(folder.glob("*.whl")) if hash_file(path) in requirements]
    for path in chosen:
        with contextlib.suppress(OSError):
            path.touch()  # What was not used for a while is removed.
    return tuple(chosen)


def package_files(package: Path) -> Iterator[Path]:
    """The files of a Python package that go onto the machine OS, whether it is installed or of a clone.

    The recipe of the machine OS is not among them: only an installed package has it, for building.
    """
    for path in sorted(package.rglob("*")):
        inside = path.relative_to(package)
        if path.is_file() and path.suffix != ".pyc" and inside.parts[:2] != ("machine_os", "recipe"):
            yield path


def hash_folder(folder: Path) -> str:
    """One hash of all files that count, and of their names."""
    whole = hashlib.sha256()
    for path in package_files(folder):
        whole.update(f"{path.relative_to(folder)}\n{hash_file(path)}\n".encode())
    return whole.hexdigest()


def _find_pip(cache_root: Path) -> str:
    for path in (*sorted(cache_root.glob("uv-*/bin/pip")), find_program("pip"), find_program("pip3")):
        if path is not None:
            return str(path)
    raise ExternalError("there is no pip on this machine", hint="apt-get install python3-pip")
