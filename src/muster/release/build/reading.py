# SPDX-License-Identifier: Apache-2.0
"""Reads the recipe of a release and its add-ons, and checks that its parts fit together."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeVar

from muster.errors import MusterError, UserError, cannot
from muster.release.build.recipe import Extra, Part, Picture, Program, Recipe, Toolchain
from muster.release.fields import Fields
from muster.release.model import Condition, Needs
from muster.release.text import parse_condition

_ID: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def find_add_ons(home: Path) -> tuple[str, ...]:
    """The ids of all add-ons that can be built."""
    return tuple(sorted(path.parent.name for path in home.glob("add-ons/*/add-on.toml")))


def load_recipe(home: Path, add_ons: Iterable[str] = ()) -> Recipe:
    """The recipe of a release with some add-ons, and those that they depend on."""
    path = home / "release.toml"
    fields = _load(path)
    release, go = fields.table("release"), fields.table("go")
    toolchain = Toolchain(go.text("minimum"), go.text("toolchain"))
    go.words("sums")  # bin/setup reads them.
    recipe = Recipe(
        home,
        release.text("kind"),
        release.text("version"),
        release.text("registry"),
        release.text("repository"),
        release.text("created"),
        toolchain,
        *_parts(fields, home),
        extras=(),
    )
    for each in (release, go, fields):
        each.finish()
    for id in _choose(home, add_ons):
        recipe = _with_add_on(recipe, home / "add-ons" / id)
    _check(recipe)
    return recipe


def _with_add_on(recipe: Recipe, folder: Path) -> Recipe:
    fields = _load(folder / "add-on.toml")
    programs, parts, pictures = _parts(fields, folder)
    requirements = fields.table("requirements")
    extra = Extra(
        id=fields.text("id"),
        name=fields.text("name"),
        version=fields.text("version"),
        bundle=fields.text("bundle"),
        description=fields.text("description").strip(),
        images=tuple(picture.id for picture in pictures),
        manifests=tuple(sorted(folder.glob("manifests/*.yaml"))),
        host=_needs(requirements.table("host")),
        cluster=_needs(requirements.table("cluster")),
        dependencies=fields.texts("dependencies"),
        conflicts=fields.texts("conflicts"),
        ready=tuple(_condition(each) for each in fields.tables("ready")),
    )
    requirements.finish()
    fields.finish()
    if extra.id != folder.name:
        raise fields.wrong("id", f"is not the name of its folder, {folder.name}")
    return replace(
        recipe,
        programs=recipe.programs + programs,
        parts=recipe.parts + parts,
        pictures=recipe.pictures + pictures,
        extras=(*recipe.extras, extra),
    )


def _choose(home: Path, wanted: Iterable[str]) -> tuple[str, ...]:
    """The add-ons that are wanted and those that they depend on, in the order of their ids."""
    there = find_add_ons(home)
    chosen: set[str] = set()
    waiting = list(wanted)
    if waiting == ["none"]:
        return ()
    while waiting:
        id = waiting.pop()
        if id == "all":
            waiting.extend(there)
        elif id not in there:
            hint = f"choose among: {', '.join((*there, 'all'))}; or none"
            raise UserError(f"there is no add-on {id!r}", hint=hint)
        elif id not in chosen:
            chosen.add(id)
            waiting.extend(_load(home / "add-ons" / id / "add-on.toml").texts("dependencies"))
    return tuple(sorted(chosen))


def _parts(fields: Fields, folder: Path) -> tuple[tuple[Program, ...], tuple[Part, ...], tuple[Picture, ...]]:
    """What release.toml and the descriptions of add-ons have alike."""
    return (
        tuple(_program(each, folder) for each in fields.tables("program")),
        tuple(_part(each) for each in fields.tables("component")),
        tuple(_picture(each) for each in fields.tables("image")),
    )


def _program(fields: Fields, folder: Path) -> Program:
    program = Program(
        id=_id(fields),
        folder=folder / fields.text("folder"),
        package=fields.text("package", "."),
        links=fields.texts("links"),
        tags=fields.texts("tags"),
        variables=fields.words("variables"),
        overlay=fields.words("overlay"),
        prints=fields.text("prints", ""),
        seconds=fields.number("seconds"),
    )
    fields.finish()
    return program


def _part(fields: Fields) -> Part:
    part = Part(
        id=_id(fields),
        name=fields.text("name"),
        version=fields.text("version"),
        program=fields.text("program"),
        licence=fields.text("licence"),
        module=fields.text("module", ""),
        source=fields.text("source", ""),
        changes=fields.text("changes", "").strip(),
    )
    fields.finish()
    return part


def _picture(fields: Fields) -> Picture:
    picture = Picture(
        id=_id(fields),
        component=fields.text("component"),
        description=fields.text("description"),
        layers=fields.texts("layers"),
        entrypoint=fields.texts("entrypoint"),
        user=fields.text("user", ""),
    )
    fields.finish()
    return picture


def _condition(fields: Fields) -> Condition:
    condition = parse_condition(fields)
    fields.finish()
    return condition


def _needs(fields: Fields) -> Needs:
    needs = Needs(*(fields.number(name, 0) for name in ("cpu_millicores", "memory_mib", "disk_mib")))
    fields.finish()
    return needs


def _id(fields: Fields) -> str:
    id = fields.text("id")
    if not _ID.fullmatch(id):
        raise fields.wrong("id", f"is {id!r}: lower-case letters, digits and single hyphens are possible")
    return id


def _load(path: Path) -> Fields:
    def fault(why: str) -> MusterError:
        return UserError(f"{path}: {why}", hint="mend it, or take the payload of this Muster as it was")

    try:
        return Fields(tomllib.loads(path.read_text("utf-8")), "", fault)
    except OSError as error:
        raise cannot("read", path, error) from error
    except ValueError as error:
        raise fault(str(error)) from error


_Named = TypeVar("_Named", Program, Part, Picture)


def _by_id(things: Iterable[_Named], what: str) -> dict[str, _Named]:
    found: dict[str, _Named] = {}
    for each in things:
        if each.id in found:
            raise _broken(f"there are two {what}s {each.id!r}")
        found[each.id] = each
    return found


def _check(recipe: Recipe) -> None:
    """What refers to something else leads somewhere."""
    programs, parts = _by_id(recipe.programs, "program"), _by_id(recipe.parts, "component")
    _by_id(recipe.pictures, "image")
    for part in recipe.parts:
        if part.program not in programs:
            raise _broken(f"the component {part.id!r} is in a program {part.program!r} that is not there")
        check_version(part, programs[part.program].folder / "go.mod")
    for picture in recipe.pictures:
        if picture.component not in parts:
            raise _broken(f"the image {picture.id!r} is of a component that is not there")
        for layer in picture.layers:
            if layer not in programs:
                raise _broken(f"the image {picture.id!r} has a layer {layer!r} that is no program")
    chosen = {extra.id for extra in recipe.extras}
    for extra in recipe.extras:
        if clash := sorted(chosen & set(extra.conflicts)):
            raise UserError(
                f"the add-ons {extra.id} and {clash[0]} exclude each other", hint="leave one of them out"
            )


def check_version(part: Part, go_mod: Path) -> None:
    """The version that is told is the one that is built."""
    if not part.module:
        return
    try:
        text = go_mod.read_text("utf-8")
    except OSError as error:
        raise cannot("read", go_mod, error) from error
    form = rf"^\s*(?:require\s+)?{re.escape(part.module)}\s+(v\S+)"
    found = re.search(form, text, re.MULTILINE)
    if found is None or found[1] != part.version:
        there = found[1] if found else "none"
        raise _broken(
            f"the component {part.id!r} has the version {part.version}, and {go_mod} builds {there}"
        )


def _broken(why: str) -> UserError:
    return UserError(f"the recipe of the release is not right: {why}", hint="mend it in payload/")
