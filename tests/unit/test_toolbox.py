# SPDX-License-Identifier: Apache-2.0
"""The toolbox is described by data; its scripts start programs with the tree's own loader."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from muster.errors import ExternalError, UserError
from muster.toolbox import Toolbox, load_recipe, render_script


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_every_known_machine_has_a_recipe(machine: str) -> None:
    recipe = load_recipe(machine)
    assert f"qemu-system-{machine}" in recipe.programs
    assert list(recipe.wanted.packages) == sorted(set(recipe.wanted.packages))


def test_the_key_changes_with_the_content_and_the_architecture() -> None:
    recipe = load_recipe("x86_64")
    others = [
        replace(recipe, format=recipe.format + 1),
        replace(recipe, wanted=replace(recipe.wanted, packages=("zstd",))),
        replace(recipe, programs=("zstd",)),
        load_recipe("aarch64"),
    ]
    assert len({recipe.key, *(each.key for each in others)}) == 5


def test_a_script_names_loader_libraries_and_data_of_the_tree() -> None:
    assert render_script(load_recipe("x86_64"), "qemu-system-x86_64", "usr/bin/qemu-system-x86_64") == (
        "#!/bin/sh\n"
        'tree=$(cd "${0%/*}/.." && pwd)\n'
        'export GCONV_PATH="$tree/usr/lib/x86_64-linux-gnu/gconv"\n'
        'export QEMU_MODULE_DIR="$tree/usr/lib/x86_64-linux-gnu/qemu"\n'
        'exec "$tree/usr/lib64/ld-linux-x86-64.so.2" --inhibit-cache'
        ' --library-path "$tree/usr/lib/x86_64-linux-gnu" "$tree/usr/bin/qemu-system-x86_64"'
        ' "-L" "$tree/usr/share/qemu" "-L" "$tree/usr/share/seabios" "$@"\n'
    )


def test_programs_and_files_are_found_or_missed_by_name(tmp_path: Path) -> None:
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / "zstd").touch()
    toolbox = Toolbox(tmp_path)
    assert toolbox.argv("zstd") == [str(tmp_path / "programs" / "zstd")]
    assert toolbox.path("programs") == tmp_path / "programs"
    with pytest.raises(ExternalError, match="has no zip"):
        toolbox.argv("zip")
    with pytest.raises(ExternalError, match="has no usr/share/OVMF"):
        toolbox.path("usr/share/OVMF")


def test_an_unknown_machine_is_refused() -> None:
    with pytest.raises(UserError, match="kind s390x") as caught:
        load_recipe("s390x")
    assert "x86_64" in caught.value.hint
