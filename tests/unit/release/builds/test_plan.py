# SPDX-License-Identifier: Apache-2.0
"""Keys: the same for the same, another for anything that would come out different."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from muster.release.build.golang import ANY
from muster.release.build.make import entries_of
from muster.release.build.plan import Plan, make_plan
from muster.release.build.reading import load_recipe
from muster.release.build.recipe import Recipe
from tests.releases import plan_of, write_payload


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return write_payload(tmp_path / "one")


def _names(plan: Plan) -> tuple[str, str]:
    return plan.programs[0].name, plan.layers[0].name


def test_names_say_what_and_for_which_machine(home: Path) -> None:
    plan = plan_of(load_recipe(home, ["all"]), "arm64")
    assert [name.rpartition("-")[0] for name in _names(plan)] == ["tool-arm64", "tool-arm64"]
    assert plan.tag(plan.recipe.pictures[1]) == "v0.1.0-arm64"
    assert len({wanted.name for wanted in (*plan.programs, *plan.layers)}) == 4


def test_the_same_sources_elsewhere_have_the_same_keys(home: Path, tmp_path: Path) -> None:
    other = write_payload(tmp_path / "two")
    (other / "tool/notes.md").write_text("not compiled")
    assert _names(plan_of(load_recipe(other))) == _names(plan_of(load_recipe(home)))


@pytest.mark.parametrize("name", ["main.go", "go.mod", "go.sum"])
def test_another_source_has_another_key(home: Path, name: str) -> None:
    before = plan_of(load_recipe(home))
    path = home / "tool" / name
    path.write_text(path.read_text() + "\n")
    after = plan_of(load_recipe(home))
    assert not set(_names(before)) & set(_names(after))


def _change_program(**changes: object) -> Callable[[Recipe], Recipe]:
    return lambda recipe: replace(recipe, programs=(replace(recipe.programs[0], **changes),))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change",
    [
        _change_program(package="./x"),
        _change_program(tags=("x",)),
        _change_program(variables={}),
        _change_program(overlay={"a@v1/b.go": "c.go"}),
    ],
)
def test_another_way_to_compile_has_another_key(home: Path, change: Callable[[Recipe], Recipe]) -> None:
    recipe = load_recipe(home)
    assert not set(_names(plan_of(recipe))) & set(_names(plan_of(change(recipe))))


def test_versions_are_part_of_the_key(home: Path) -> None:
    recipe = load_recipe(home)
    plans = [
        make_plan(recipe, *words)
        for words in (
            ("amd64", "go1", "1"),
            ("amd64", "go2", "1"),
            ("arm64", "go1", "1"),
            ("amd64", "go1", "2"),
        )
    ]
    assert len({plan.programs[0].name for plan in plans}) == 3
    assert len({plan.layers[0].name for plan in plans}) == 4


def test_links_change_the_layer_alone(home: Path) -> None:
    recipe = load_recipe(home)
    before, after = plan_of(recipe), plan_of(_change_program(links=("saw",))(recipe))
    assert before.programs[0].name == after.programs[0].name
    assert before.layers[0].name != after.layers[0].name


def test_how_long_it_takes_changes_nothing(home: Path) -> None:
    recipe = load_recipe(home)
    assert _names(plan_of(recipe)) == _names(plan_of(_change_program(seconds=1)(recipe)))


def test_a_layer_has_a_program_and_its_links(home: Path) -> None:
    plan = plan_of(load_recipe(home))
    entries = entries_of(plan.layer("tool"), Path("/built"))
    assert [(entry.path, entry.link) for entry in entries] == [
        ("usr/bin/tool", ""),
        ("usr/bin/hammer", "tool"),
        ("usr/bin/saw", "tool"),
    ]


def test_what_a_program_prints_is_the_same_for_all_machines(home: Path) -> None:
    recipe = _change_program(prints="etc/list")(load_recipe(home))
    plans = [plan_of(recipe, architecture) for architecture in ("amd64", "arm64")]
    assert _names(plans[0]) == _names(plans[1])
    assert plans[0].programs[0].architecture == ANY
    (entry,) = entries_of(plans[0].layer("tool"), Path("/built"))
    assert (entry.path, entry.mode) == ("etc/list", 0o644)
