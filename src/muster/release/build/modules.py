# SPDX-License-Identifier: Apache-2.0
"""The modules that a program is made of: what Go wrote into it about them, and their licences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from muster.errors import cannot
from muster.frozen import dataclass
from muster.release.build.golang import escape_module
from muster.release.build.licences import find_licences


@dataclass(frozen=True)
class Module:
    """One module, as it was built."""

    path: str
    version: str
    sum: str
    """What go.sum pins; empty for what lies beside the program's own sources."""
    licences: tuple[str, ...] = ()
    stands_for: str = ""
    """The module that it replaces, if it is one of another name."""


def parse_build_info(info: Mapping[str, Any], modules: Path, sums: Mapping[str, str]) -> tuple[Module, ...]:
    """The modules of a program; licences are read from their sources, and ``sums`` from go.sum."""
    found = [_module(each, modules, sums) for each in info.get("Deps") or ()]
    return tuple(sorted(found, key=lambda module: (module.path, module.version)))


def _module(entry: Mapping[str, Any], modules: Path, sums: Mapping[str, str]) -> Module:
    used = entry.get("Replace") or entry
    path, version = str(used.get("Path", "")), str(used.get("Version", ""))
    own = str(entry.get("Path", ""))
    if path.startswith("."):  # A folder stands in for it: of ours, or its own with a file of ours.
        version = str(entry.get("Version", ""))
        licences = find_licences(modules / escape_module(f"{own}@{version}"))
        return Module(own, version, sums.get(f"{own}@{version}", ""), licences)
    licences = find_licences(modules / escape_module(f"{path}@{version}"))
    return Module(path, version, str(used.get("Sum", "")), licences, own if own != path else "")


def load_sums(folder: Path) -> dict[str, str]:
    """What go.sum pins, by ``path@version``; none where there are no modules."""
    path = folder / "go.sum"
    try:
        lines = [line.split() for line in path.read_text("utf-8").splitlines()]
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise cannot("read", path, error) from error
    return {f"{words[0]}@{words[1]}": words[2] for words in lines if len(words) == 3}


def render_modules(modules: tuple[Module, ...]) -> list[dict[str, Any]]:
    """As they are kept beside a program."""
    return [
        {
            "path": module.path,
            "version": module.version,
            "sum": module.sum,
            "licences": list(module.licences),
            "standsFor": module.stands_for,
        }
        for module in modules
    ]


def parse_modules(body: Iterable[Mapping[str, Any]]) -> tuple[Module, ...]:
    """What `render_modules` wrote."""
    return tuple(
        Module(each["path"], each["version"], each["sum"], tuple(each["licences"]), each["standsFor"])
        for each in body
    )
