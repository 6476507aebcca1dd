# SPDX-License-Identifier: Apache-2.0
"""The sources that a program is compiled from: its folder, or one where files of modules are replaced.

Go lets a folder stand in for a module, but not a file for a file of one. So a module with such a file is
copied beside the program's own sources, in a folder that is there only for that build.
"""

from __future__ import annotations

import contextlib
import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from muster.errors import UserError, cannot
from muster.release.build.golang import Go
from muster.release.build.recipe import Program

SOURCES: Final = (".go", ".mod", ".sum")
"""What Go reads of a program's folder."""


@contextlib.contextmanager
def prepare_sources(program: Program, go: Go, work: Path) -> Iterator[Path]:
    """The folder to compile a program in; ``work`` is one for passing things."""
    if not program.overlay:
        yield program.folder
        return
    folder = work / "sources"
    try:
        _copy(program, go, folder)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _copy(program: Program, go: Go, folder: Path) -> None:
    try:
        shutil.copytree(program.folder, folder, ignore=_ignore)
        for number, (module, files) in enumerate(sorted(split_overlay(program.overlay).items())):
            source, name = go.fetch_module(module, folder), f"module-{number}"
            shutil.copytree(source, folder / name)
            for file, own in files.items():
                _replace(folder / name / file, program.folder / own, module)
            go.replace_module(module, name, folder)
    except OSError as error:
        raise cannot("copy the sources to", folder, error) from error


def split_overlay(overlay: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """By ``path@version`` of a module, its files that are replaced, and by what."""
    found: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for name, own in overlay.items():
        path, sign, rest = name.partition("@")
        version, slash, file = rest.partition("/")
        if not (sign and slash and file):
            raise UserError(f"{name} does not name a file of a module", hint="write it as path@version/file")
        found[f"{path}@{version}"][file] = own
    return dict(found)


def _replace(path: Path, own: Path, module: str) -> None:
    if not path.is_file():
        raise UserError(f"{module} has no file {path.name} to be replaced", hint="mend it in payload/")
    path.unlink()
    shutil.copyfile(own, path)


def _ignore(folder: str, names: list[str]) -> list[str]:
    """Manifests and descriptions are not compiled."""
    return [name for name in names if not (Path(folder, name).is_dir() or Path(name).suffix in SOURCES)]
