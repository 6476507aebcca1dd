# SPDX-License-Identifier: Apache-2.0
"""The recipe of the machine OS: scripts are scripts, packages those of the lock file, and wheels carry it."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from muster.machine_os.recipe import find_home, load_recipe

ROOT = Path(__file__).parent.parent.parent
HOME = find_home()


def first_line(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.readline()


SCRIPTS = [
    HOME / "initrd/functions",
    *(
        path
        for path in sorted(HOME.rglob("*"))
        if path.is_file() and first_line(path).startswith((b"#!/bin/sh", b"#!/bin/bash"))
    ),
]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: str(path.relative_to(HOME)))
def test_scripts_are_scripts(path: Path) -> None:
    subprocess.run(["bash", "-n", path], check=True)
    if shutil.which("shellcheck"):
        subprocess.run(["shellcheck", "--shell=bash", "--exclude=SC1090,SC1091,SC2154", path], check=True)


def test_programs_in_python_compile() -> None:
    for path in HOME.rglob("*"):
        if path.is_file() and b"python3" in first_line(path):
            compile(path.read_bytes(), path, "exec")


def test_programs_may_be_run() -> None:
    programs = [path for path in HOME.rglob("*") if path.is_file() and first_line(path).startswith(b"#!")]
    assert programs
    assert [path for path in programs if not os.access(path, os.X_OK)] == []


def test_python_packages_are_those_of_the_lock_file(tmp_path: Path) -> None:
    fresh = tmp_path / "requirements.txt"
    subprocess.run([ROOT / "bin/requirements", fresh], check=True)
    assert fresh.read_text() == (ROOT / "machine-os/requirements.txt").read_text(), "run `make docs`"


def uv() -> str:
    """The one that bin/setup uses."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    found = shutil.which("uv") or next(map(str, cache.glob("muster/uv-*/bin/uv")), None)
    assert found, "bin/setup installs uv"
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Muster as it is published."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([uv(), "build", "--quiet", "--wheel", "--out-dir", folder, ROOT], check=True)
    (found,) = folder.glob("*.whl")
    return found


def test_a_wheel_has_all_that_a_clone_has(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        there = set(archive.namelist())
    sources = ROOT / "src"
    wanted = {
        str(path.relative_to(sources))
        for path in (sources / "muster").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    recipe = {
        f"muster/machine_os/recipe/{path.relative_to(HOME)}" for path in HOME.rglob("*") if path.is_file()
    }
    assert wanted | recipe <= there
    assert not [name for name in there if "__pycache__" in name]


def test_the_recipe_of_a_wheel_is_found_and_the_same(wheel: Path, tmp_path: Path) -> None:
    """Its digest knows what may be run, too: an archive that loses that gives another system."""
    subprocess.run([uv(), "pip", "install", "-q", "--no-deps", "--target", tmp_path, wheel], check=True)
    program = (
        "from muster.machine_os.recipe import *; home = find_home();"
        "print(home); print(load_recipe(home, 'x86_64', 'common').digest())"
    )
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], env=env, capture_output=True, text=True, check=True
    )
    digest = load_recipe(HOME, "x86_64", "common").digest()
    assert done.stdout.split() == [str(tmp_path / "muster/machine_os/recipe"), digest]


def check_rootfs(rootfs: Path, sha256: str) -> subprocess.CompletedProcess[str]:
    """The check of the initrd, with what ends a boot put in words."""
    script = '. "$0"; fail() { echo "failed: $*"; exit 1; }; check_rootfs "$1" http://192.0.2.1/r.img "$2"'
    argv: list[str | Path] = ["bash", "-euc", script, HOME / "initrd/functions", rootfs, sha256]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def test_a_fetched_root_file_system_is_used_only_with_the_right_hash(tmp_path: Path) -> None:
    rootfs = tmp_path / "rootfs.img"
    rootfs.write_bytes(b"system")
    right = hashlib.sha256(b"system").hexdigest()
    good = check_rootfs(rootfs, right)
    assert (good.returncode, good.stdout) == (0, "")
    assert rootfs.exists()
    rootfs.write_bytes(b"other")
    bad = check_rootfs(rootfs, right)
    assert bad.returncode == 1
    assert (
        "failed: the root file system from http://192.0.2.1/r.img is not the one of this medium" in bad.stdout
    )
    assert f"expected {right}" in bad.stdout
    assert not rootfs.exists()
