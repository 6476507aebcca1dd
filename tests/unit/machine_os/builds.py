# SPDX-License-Identifier: Apache-2.0
"""A build whose programs are not run, with parts and packages that are small."""

from __future__ import annotations

import json
from pathlib import Path

from muster.debian.apt import Package
from muster.debian.mirror import Mirror
from muster.debian.packages import Shelf
from muster.machine_os.build import Build, Parts
from muster.machine_os.recipe import Recipe, find_home, load_recipe
from muster.toolbox import Toolbox
from tests.stand_in import StandIn

PACKAGES = (
    Package("bash", "5.2", "amd64", "a" * 64, 100, "http://one.example.com/bash.deb"),
    Package("zlib1g", "1:1.3", "amd64", "b" * 64, 200, "http://one.example.com/zlib1g.deb"),
)


def recipe(architecture: str = "x86_64", hardware: str = "common") -> Recipe:
    return load_recipe(find_home(), architecture, hardware)


def put(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def make_parts(folder: Path) -> Parts:
    for name in ("bin/coreos-installer", "systemd/coreos-installer.service", "scripts/service"):
        put(folder / "installer" / name, name)
    for name in ("muster/__init__.py", "muster/cli/app.py", "native/__init__.py", "native/native.so"):
        put(folder / name, name)
    return Parts(
        folder / "installer", folder / "muster", folder / "native", (put(folder / "click.whl", "click"),)
    )


def make_toolbox(tree: Path, sha256: str = "c" * 64) -> Toolbox:
    put(tree / "packages.json", json.dumps([{"name": "grub", "version": "2.12", "sha256": sha256}]))
    return Toolbox(tree)


def make_build(folder: Path) -> Build:
    return Build(
        recipe=recipe(),
        packages=PACKAGES,
        parts=make_parts(folder / "parts"),
        key="0123456789abcdef",
        epoch=1_767_225_600,
        work=folder,
        toolbox=make_toolbox(folder / "toolbox"),
        shelf=Shelf(folder, Mirror("http://m.example/debian")),
        run=StandIn(),
    )
