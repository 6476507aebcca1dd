# SPDX-License-Identifier: Apache-2.0
"""The recipe of a release: what is read, and what is wrong with one that does not fit together."""

from __future__ import annotations

from pathlib import Path

import pytest

from muster.errors import UserError
from muster.release.build.reading import find_add_ons, load_recipe
from muster.release.build.recipe import choose_images
from muster.release.model import Condition, ConditionKind, Needs
from tests.releases import ADD_ON, RELEASE, write_payload


def test_a_recipe_is_read(tmp_path: Path) -> None:
    recipe = load_recipe(write_payload(tmp_path))
    assert (recipe.kind, recipe.version, recipe.go.minimum) == ("kubernetes", "v1.2.3", "1.26.4")
    (program,) = recipe.programs
    assert (program.package, program.links, program.folder) == (".", ("hammer", "saw"), tmp_path / "tool")
    assert recipe.image_name("tool") == "registry.example.com/kubernetes/tool"
    assert recipe.extras == ()


@pytest.mark.parametrize("wanted", ["gauge", "all"])
def test_an_add_on_brings_its_parts(tmp_path: Path, wanted: str) -> None:
    recipe = load_recipe(write_payload(tmp_path), [wanted])
    (extra,) = recipe.extras
    assert [program.id for program in recipe.programs] == ["tool", "gauge"]
    assert (extra.images, extra.host, extra.cluster) == (("gauge",), Needs(disk_mib=7), Needs(10, 20))
    assert extra.ready == (
        Condition(ConditionKind.DEPLOYMENT_AVAILABLE, "gauge", "gauges"),
        Condition(ConditionKind.STORAGE_CLASS_EXISTS, "full"),
    )
    assert [path.name for path in extra.manifests] == ["10-pod.yaml"]


def test_an_add_on_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no add-on 'gouge'") as caught:
        load_recipe(write_payload(tmp_path), ["gouge"])
    assert "gauge, all; or none" in caught.value.hint


def test_none_is_a_word_of_its_own(tmp_path: Path) -> None:
    home = write_payload(tmp_path)
    assert load_recipe(home, ["none"]).extras == ()
    with pytest.raises(UserError, match="no add-on 'none'"):
        load_recipe(home, ["gauge", "none"])


def test_what_an_add_on_depends_on_comes_along(tmp_path: Path) -> None:
    home = write_payload(tmp_path)
    _second(home, "dependencies = []", 'dependencies = ["gauge"]')
    assert find_add_ons(home) == ("dial", "gauge")
    assert [extra.id for extra in load_recipe(home, ["dial"]).extras] == ["dial", "gauge"]


def test_add_ons_that_exclude_each_other(tmp_path: Path) -> None:
    home = write_payload(tmp_path)
    _second(home, "conflicts = []", 'conflicts = ["gauge"]')
    assert load_recipe(home, ["dial"]).extras
    with pytest.raises(UserError, match="dial and gauge exclude each other"):
        load_recipe(home, ["all"])


def _second(home: Path, old: str, new: str) -> None:
    folder = home / "add-ons/dial"
    folder.mkdir()
    text = ADD_ON.replace(old, new).replace('"gauge"', '"dial"', 1).replace('id = "gauge"', 'id = "dial"')
    text = text.replace('component = "gauge"', 'component = "dial"').replace(
        'program = "gauge"', 'program = "dial"'
    )
    text = text.replace('layers = ["gauge", "tool"]', 'layers = ["dial"]')
    (folder / "add-on.toml").write_text(text)


def test_some_images_alone(tmp_path: Path) -> None:
    recipe = choose_images(load_recipe(write_payload(tmp_path), ["all"]), ["tool"])
    assert [program.id for program in recipe.programs] == ["tool"]
    assert [part.id for part in recipe.parts] == ["toolbox"]
    assert [picture.id for picture in recipe.pictures] == ["tool"]
    assert recipe.extras == ()


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('kind = "kubernetes"', "", "release.kind is missing"),
        ('kind = "kubernetes"', "kind = 3", "release.kind is not a text"),
        ('kind = "kubernetes"', 'kind = "kubernetes"\nkinds = 3', "release.kinds is no field that is known"),
        ("seconds = 60", 'seconds = "60"', r"program\[0\].seconds is not a number"),
        ("seconds = 60", "seconds = true", r"program\[0\].seconds is not a number"),
        ("seconds = 60", "seconds = 60\nlink = []", r"program\[0\].link is no field"),
        ('links = ["hammer", "saw"]', "links = [1]", r"program\[0\].links is not a list of texts"),
        ('id = "tool"', 'id = "Tool"', r"program\[0\].id is 'Tool'"),
        ("[go]", "[go", "release.toml: "),
        ('program = "tool"', 'program = "mill"', "in a program 'mill' that is not there"),
        ('layers = ["tool"]', 'layers = ["mill"]', "has a layer 'mill' that is no program"),
        ('component = "toolbox"', 'component = "mill"', "is of a component that is not there"),
        ('version = "v1.2.3"\nprogram', 'version = "v1.2.4"\nprogram', "v1.2.4, and .* builds v1.2.3"),
        ('module = "example.com/toolbox"', 'module = "example.com/tool"', "builds none"),
        ("[[image]]", '[[component]]\nid = "toolbox"\nname = "x"\nversion = "v1"\nprogram = "tool"\n'
         'licence = "MIT"\n[[image]]', "two components 'toolbox'"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_recipe(tmp_path: Path, old: str, new: str, why: str) -> None:
    assert old in RELEASE
    home = write_payload(tmp_path, release=RELEASE.replace(old, new, 1))
    with pytest.raises(UserError, match=why):
        load_recipe(home)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('id = "gauge"', 'id = "gouge"', "id is not the name of its folder, gauge"),
        (
            'kind = "deployment-available"',
            'kind = "all-is-well"',
            r"ready\[0\].kind is none of deployment-av",
        ),
        ('namespace = "gauges"', "", r"ready\[0\].namespace is needed"),
        ('name = "full"', 'name = "full"\nnamespace = "x"', r"ready\[1\].namespace is not needed"),
        ("disk_mib = 7", "disk_gib = 7", "requirements.host.disk_gib is no field"),
    ],
)
def test_what_is_wrong_with_an_add_on(tmp_path: Path, old: str, new: str, why: str) -> None:
    home = write_payload(tmp_path, add_on=ADD_ON.replace(old, new, 1))
    with pytest.raises(UserError, match=why):
        load_recipe(home, ["all"])


def test_a_recipe_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"cannot read .*release.toml"):
        load_recipe(tmp_path)
