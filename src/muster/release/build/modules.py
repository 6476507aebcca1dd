# SPDX-License-Identifier: Apache-2.0
"""The modules that a program is made of: what Go wrote into it about them, and their licences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

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


def parse_build_info(info: Mapping[str, Any], modules: Path) -> tuple[Module, ...]:
    """The modules of a program; their licences are read from their sources."""
    found = [_module(each, modules) for each in info.get("Deps") or ()]
    return tuple(sorted(found, key=lambda module: (module.path, module.version)))


def _module(entry: Mapping[str, Any], modules: Path) -> Module:
    used = entry.get("Replace") or entry
    path, version = str(used.get("Path", "")), str(used.get("Version", ""))
    own = str(entry.get("Path", ""))
    if path.startswith("."):  # A folder of ours stands in for it.
        return Module(own, str(entry.get("Version", "")), "")
    licences = find_licences(modules / escape_module(f"{path}@{version}"))
    return Module(path, version, str(used.get("Sum", "")), licences, own if own != path else "")


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
