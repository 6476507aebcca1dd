# SPDX-License-Identifier: Apache-2.0
"""A release is made of what is kept and of what is missing; what stands in for Go compiles nothing."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from muster.errors import ExternalError, UserError
from muster.release.build.golang import Go
from muster.release.build.kept import Kept
from muster.release.build.make import Means, Step, make_release
from muster.release.build.plan import Plan
from muster.release.build.reading import load_recipe
from muster.release.build.whole import Whole
from muster.release.look import choose_release, find_flaws, load_release
from muster.release.store.store import Store, create_store
from tests.releases import plan_of, write_payload
from tests.stand_in import Asked, StandIn


class Compiler(StandIn):
    """Writes something where Go would write a program."""

    broken = ""
    """The program that it does not compile."""

    def look(self, folder: Path | None) -> None:
        """Remember what it was given to compile."""
        assert folder is not None
        files = (path for path in folder.rglob("*") if path.is_file())
        self.sources = {str(path.relative_to(folder)): path.read_text() for path in files}

    def answer(self, asked: Asked) -> str:
        verb = asked.words[1] if len(asked.words) > 1 else "print"
        if verb == "build":
            self.look(asked.circumstances.cwd)
            target = Path(asked.words[asked.words.index("-o") + 1])
            if target.name == self.broken:
                target.write_bytes(b"half of it")
                raise ExternalError("go failed with status 1")
            target.write_bytes(f"{target.name} {asked.circumstances.env!r}"[:40].encode())
        if verb == "version":
            return json.dumps(
                {"Deps": [{"Path": "example.com/toolbox", "Version": "v1.2.3", "Sum": "h1:a="}]}
            )
        return "printed"


class Site:
    """A cache, a store, and what was heard of a build."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.compiler = Compiler()
        self.home = write_payload(place / "payload")
        self.cache = place / "cache"
        self.now = 1_000_000.0
        self.expected: tuple[Step, ...] = ()
        self.began: list[str] = []

    @property
    def store(self) -> Store:
        return create_store(self.place / "store")

    def plan(self, *add_ons: str) -> Plan:
        return plan_of(load_recipe(self.home, add_ons))

    def make(self, plan: Plan | None = None) -> Whole:
        self.began.clear()
        go = Go(Path("/usr/bin/go"), "go1.26.8", self.cache / "go", 2, self.compiler)
        means = Means(
            self.cache,
            go,
            self.store,
            expect=lambda steps: setattr(self, "expected", steps),
            began=lambda step: self.began.append(step.what),
            clock=lambda: self.now,
        )
        return make_release(plan or self.plan(), means)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_a_release_comes_into_the_store_as_a_whole(site: Site) -> None:
    whole = site.make(site.plan("all"))
    found = choose_release(site.store, "", "amd64")
    release = load_release(site.store, found)
    assert release == whole.release
    assert find_flaws(site.store, release, found, full=True) == []
    assert [step.what for step in site.expected] == site.began == [
        "fetching the modules of tool",
        "compiling tool",
        "fetching the modules of gauge",
        "compiling gauge",
        "packing tool",
        "packing gauge",
    ]  # fmt: skip
    assert release.image("gauge").tagged in site.store.contents().images


def test_what_is_kept_is_not_made_again(site: Site) -> None:
    first = site.make()
    site.compiler.asked.clear()
    assert site.make() == first
    assert (site.expected, site.began, site.compiler.asked) == ((), [], [])


def test_another_store_gets_all_of_it_without_compiling(site: Site) -> None:
    first = site.make()
    site.place /= "elsewhere"
    site.compiler.asked.clear()
    assert site.make() == first
    assert site.compiler.asked == []
    assert choose_release(site.store, "", "amd64").image == first.own.manifest.descriptor


def test_a_build_that_broke_off_goes_on(site: Site) -> None:
    site.compiler.broken = "gauge"
    with pytest.raises(ExternalError):
        site.make(site.plan("all"))
    assert site.store.contents().images == {}
    assert not [path for path in (site.cache / "release/programs").iterdir() if path.name.startswith("gauge")]
    site.compiler.broken = ""
    site.make(site.plan("all"))
    assert site.began[:2] == ["fetching the modules of gauge", "compiling gauge"]


@pytest.mark.parametrize("folder", ["programs", "layers"])
@pytest.mark.parametrize("record", ["", "[]", "{}", '{"file": 3}', None])
def test_what_is_damaged_in_the_cache_is_made_again(site: Site, folder: str, record: str | None) -> None:
    first = site.make()
    (kept,) = (site.cache / "release" / folder).iterdir()
    if record is None:
        next(path for path in kept.iterdir() if path.name != "record.json").write_bytes(b"short")
    else:
        (kept / "record.json").write_text(record)
    assert site.make() == first
    assert len(site.expected) == (2 if folder == "programs" else 1)


def test_what_a_program_prints_is_the_file(site: Site) -> None:
    plan = site.plan()
    program = replace(plan.recipe.programs[0], prints="etc/list")
    site.make(plan_of(replace(plan.recipe, programs=(program,))))
    (kept,) = (site.cache / "release/programs").iterdir()
    assert kept.name.startswith("tool-any-")
    assert (kept / "tool").read_text() == "printed\n"


def test_files_of_modules_are_replaced_for_the_build_alone(site: Site) -> None:
    module = site.cache / "go/modules/example.com/!a@v1.0.0"
    module.mkdir(parents=True)
    (module / "b.go").write_text("theirs")
    (module / "b.go").chmod(0o444)
    (site.home / "tool/c.go").write_text("ours")
    (site.home / "tool/notes.md").write_text("not compiled")
    plan = site.plan()
    program = replace(plan.recipe.programs[0], overlay={"example.com/A@v1.0.0/b.go": "c.go"})
    site.make(plan_of(replace(plan.recipe, programs=(program,))))
    assert site.compiler.sources == {
        "c.go": "ours",
        "main.go": "package main\n",
        "go.mod": (site.home / "tool/go.mod").read_text(),
        "go.sum": (site.home / "tool/go.sum").read_text(),
        "module-0/b.go": "ours",
    }
    assert ["/usr/bin/go", "mod", "edit", "-replace=example.com/A@v1.0.0=./module-0"] in site.compiler.asked
    assert (module / "b.go").read_text() == "theirs"
    (kept,) = (site.cache / "release/programs").iterdir()
    assert sorted(path.name for path in kept.iterdir()) == ["record.json", "tool"]


@pytest.mark.parametrize(
    ("name", "said"),
    [("example.com/a/b.go", "does not name a file"), ("example.com/a@v1/b.go", "has no file b.go")],
)
def test_files_that_are_not_there_cannot_be_replaced(site: Site, name: str, said: str) -> None:
    (site.cache / "go/modules/example.com/a@v1").mkdir(parents=True)
    plan = site.plan()
    program = replace(plan.recipe.programs[0], overlay={name: "main.go"})
    with pytest.raises(UserError, match=said):
        site.make(plan_of(replace(plan.recipe, programs=(program,))))


def test_old_programs_go_when_there_are_new_ones(site: Site) -> None:
    names = []
    for number in range(4):
        (site.home / "tool/main.go").write_text(f"package main // {number}\n")
        plan = site.plan()
        site.now = 1_000_000.0 + number * 100_000
        site.make(plan)
        names.append(plan.programs[0].name)
        os.utime(site.cache / "release/programs" / names[-1], (site.now, site.now))
        os.utime(site.cache / "release/layers" / plan.layers[0].name, (site.now, site.now))
    assert {path.name for path in (site.cache / "release/programs").iterdir()} == set(names[-2:])
    assert len([*(site.cache / "release/layers").iterdir()]) == 2


def test_what_a_crash_left_is_removed(site: Site) -> None:
    left = site.cache / "release/programs/.tool-amd64-0.01234567.part"
    left.mkdir(parents=True)
    Kept(site.cache).open()
    assert not left.exists()
