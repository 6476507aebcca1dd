# SPDX-License-Identifier: Apache-2.0
"""Cases of the golden tests: a base site, and the change that breaks a rule.

A case is a TOML file. All keys are optional:
    base = "compact"                      a folder of tests/golden/base (the default)
    remove = ["agent-config.yaml"]        files of the base that are not there
    [[change]]                            replace a text, which must occur exactly once, in a file
    file, replace, with
    [files]                               whole files: name = "content"
    [hex]                                 whole files that are no text: name = "hexadecimal"
    [sizes]                               files of so many zero bytes: name = 17000000
    [links]                               symbolic links: name = "target"
    [environment]                         environment variables
    today = 2026-01-31                    the date that certificates are judged by
    folders = ["install-config.yaml"]     folders that stand where a file should
"""

from __future__ import annotations

import shutil
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

from muster.config.check import check_folder
from muster.config.document.folder import Directory
from muster.model.problem import Problem
from muster.model.site import Environment, Site

HERE = Path(__file__).parent
RULE_CASES = sorted((HERE / "rules").glob("*.toml"))


def build_case(path: Path, target: Path) -> dict[str, Any]:
    """Make the site of a case in an empty directory, and give the case itself."""
    case = tomllib.loads(path.read_text("utf-8"))
    base = HERE / "base" / case.get("base", "compact")
    shutil.copytree(base, target, dirs_exist_ok=True)
    for name in case.get("remove", []):
        (target / name).unlink()
    for change in case.get("change", []):
        file = target / change["file"]
        text = file.read_text("utf-8")
        assert text.count(change["replace"]) == 1, f"{path.name}: {change['replace']!r} must occur once"
        file.write_text(text.replace(change["replace"], change["with"]), "utf-8")
    for name, text in case.get("files", {}).items():
        _fresh(target / name).write_text(text, "utf-8")
    for name, digits in case.get("hex", {}).items():
        _fresh(target / name).write_bytes(bytes.fromhex(digits))
    for name, size in case.get("sizes", {}).items():
        with _fresh(target / name).open("wb") as file:
            file.truncate(size)
    for name, to in case.get("links", {}).items():
        _fresh(target / name).symlink_to(to)
    for name in case.get("folders", []):
        _fresh(target / name).mkdir()
    return case


def check_case(path: Path, target: Path) -> tuple[Site, list[Problem]]:
    """Check the site of a case."""
    case = build_case(path, target)
    environment = replace(Environment.of(case.get("environment", {})), today=case.get("today"))
    return check_folder(Directory(target), environment)


def _fresh(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    return path
