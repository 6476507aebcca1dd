# SPDX-License-Identifier: Apache-2.0
"""A build is named by what goes into it, says what it is made of, and goes when it is old."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from muster.errors import UserError
from muster.machine_os import make
from muster.machine_os.build import Parts
from muster.machine_os.keeping import KEPT, RECENT_S, Kept, choose_old, forget_old
from muster.machine_os.make import build_key
from muster.machine_os.papers import render_manifest, write_papers
from muster.machine_os.parts import choose_wheels, count_requirements, find_parts, package_files
from muster.machine_os.recipe import find_home
from tests.stand_in import StandIn
from tests.unit.machine_os import builds

RECIPE = builds.recipe()


@pytest.fixture
def parts(tmp_path: Path) -> Parts:
    return builds.make_parts(tmp_path / "parts")


def test_the_key_is_that_of_the_packages_wherever_they_came_from(tmp_path: Path, parts: Parts) -> None:
    toolbox = builds.make_toolbox(tmp_path / "toolbox")
    elsewhere = [replace(each, uri="http://two.example.com/x.deb") for each in builds.PACKAGES]
    key = build_key(RECIPE, builds.PACKAGES, parts, toolbox)
    assert build_key(RECIPE, elsewhere, parts, toolbox) == key
    assert len(key) == 16


def test_the_key_changes_with_every_input(tmp_path: Path, parts: Parts) -> None:
    toolbox = builds.make_toolbox(tmp_path / "toolbox")
    newer = [replace(builds.PACKAGES[0], sha256="9" * 64), *builds.PACKAGES[1:]]
    keys = [
        build_key(RECIPE, builds.PACKAGES, parts, toolbox),
        build_key(builds.recipe(hardware="full"), builds.PACKAGES, parts, toolbox),
        build_key(RECIPE, newer, parts, toolbox),
        build_key(RECIPE, builds.PACKAGES, parts, builds.make_toolbox(tmp_path / "other", "d" * 64)),
        build_key(RECIPE, builds.PACKAGES, replace(parts, wheels=()), toolbox),
    ]
    for path in sorted(path for path in (tmp_path / "parts").rglob("*") if path.is_file()):
        before = path.read_text()
        path.write_text(before + "changed")
        keys.append(build_key(RECIPE, builds.PACKAGES, parts, toolbox))
        path.write_text(before)
    assert len(set(keys)) == len(keys) == 5 + 8


def test_an_installed_muster_and_one_of_a_clone_give_the_same(tmp_path: Path, parts: Parts) -> None:
    toolbox = builds.make_toolbox(tmp_path / "toolbox")
    before = build_key(RECIPE, builds.PACKAGES, parts, toolbox)
    builds.put(parts.muster / "machine_os/recipe/recipe.toml", "suite")
    builds.put(parts.muster / "cli/__pycache__/app.cpython-313.pyc", "compiled")
    assert build_key(RECIPE, builds.PACKAGES, parts, toolbox) == before
    assert {path.name for path in package_files(parts.muster)} == {"__init__.py", "app.py"}


def test_the_manifest_names_everything(tmp_path: Path) -> None:
    build = builds.make_build(tmp_path)
    for path in (build.medium, build.disk, build.kernel, build.initrd, build.image):
        builds.put(path, path.name)
    write_papers(build)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest == render_manifest(build)
    assert manifest["packages"][1] == {
        "name": "zlib1g",
        "version": "1:1.3",
        "architecture": "amd64",
        "sha256": "b" * 64,
        "size": 200,
    }
    assert manifest["tools"][0]["name"] == "grub"
    assert manifest["files"]["live.iso"] == {
        "size": 8,
        "sha256": hashlib.sha256(b"live.iso").hexdigest(),
    }
    assert manifest["wheels"] == {"click.whl": hashlib.sha256(b"click").hexdigest()}
    assert "example.com" not in json.dumps(manifest)


def test_wheels_are_chosen_by_their_hash(tmp_path: Path) -> None:
    right, wrong = builds.put(tmp_path / "a.whl", "a"), builds.put(tmp_path / "b.whl", "b")
    requirements = f"a==1.0 \\\n    --hash=sha256:{hashlib.sha256(b'a').hexdigest()}\n"
    assert choose_wheels(tmp_path, requirements) == (right,)
    assert wrong.exists()


def test_markers_are_no_packages() -> None:
    text = "# click==1\na==1.0 ; python_version == '3.13' \\\n    --hash=sha256:00\nb-c.d==2\n"
    assert count_requirements(text) == 2
    assert count_requirements((find_home() / "requirements.txt").read_text()) >= 5


def test_a_missing_installer_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="coreos-installer is not built") as caught:
        find_parts(RECIPE, tmp_path, None, run=StandIn())
    assert "bin/setup" in caught.value.hint


def test_a_machine_builds_for_its_own_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(UserError, match="builds no machine OS for sparc"):
        make._check_machine("sparc")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(UserError, match="is built by root"):
        make._check_machine(os.uname().machine)


def test_old_builds_go_and_the_last_of_each_kind_stay() -> None:
    now = 10.0 * RECENT_S
    found = [Kept(f"old{age}", "common", now - RECENT_S - age) for age in range(1, 6)]
    found += [Kept("full", "full", 0.0), Kept("just", "common", now - 1)]
    assert choose_old(found, now) == ["old3", "old4", "old5"]
    assert len([each for each in found if each.kind == "common"]) - 3 == KEPT


def test_what_was_used_lately_stays_however_many_there_are() -> None:
    assert choose_old([Kept(str(each), "common", 100.0) for each in range(20)], 101.0) == []


def test_only_builds_are_forgotten(tmp_path: Path) -> None:
    names = [f"{number:016x}" for number in range(6)]
    for number, name in enumerate(names):
        builds.put(tmp_path / name / "manifest.json", '{"architecture": "x86_64", "hardware": "common"}')
        os.utime(tmp_path / name, (number, number))
    for name in ("notes", f"root-{'0' * 16}", f".{'0' * 16}.01234567.part"):
        (tmp_path / name).mkdir()
    forget_old(tmp_path, names[0], 10.0 * RECENT_S)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {names[0], names[4], names[5], "notes", f"root-{'0' * 16}", f".{'0' * 16}.01234567.part"}
