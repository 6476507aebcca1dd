# SPDX-License-Identifier: Apache-2.0
"""The house keeps its own rules."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.model.catalogue import rules

ROOT = Path(__file__).parent.parent.parent
MODULES = sorted((ROOT / "src").rglob("*.py"))
MAX_LINES = 700
BANNED = {"utils", "util", "helpers", "helper", "common", "misc", "base", "manager", "handler"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_module(path: Path) -> None:
    text = path.read_text("utf-8")
    assert text.startswith("# SPDX-License-Identifier: Apache-2.0\n")
    assert ast.get_docstring(ast.parse(text)), "a module says in its docstring what it is for"
    assert len(text.splitlines()) <= MAX_LINES, "is this still one idea?"
    assert path.stem not in BANNED


def test_the_readme_maps_the_tree() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    mapped = set(re.findall(r"^\| `([^`]+)` \|", readme, re.MULTILINE))
    package = {
        f"src/muster/{path.name}" for path in (ROOT / "src/muster").glob("*.py") if path.stem != "__init__"
    }
    folders = {
        f"src/muster/{path.name}/"
        for path in (ROOT / "src/muster").iterdir()
        if (path / "__init__.py").exists()
    }
    top = {
        f"{path.name}/"
        for path in ROOT.iterdir()
        if path.is_dir() and not path.name.startswith(".") and path.name not in ("src", "dist")
    }
    assert mapped == package | folders | top


def _named_slugs() -> Iterator[str]:
    """Every text in the code that has the form of a slug: what `problem` and `complain` are called with."""
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def test_every_rule_is_used_by_code() -> None:
    named = set(_named_slugs())
    assert not [rule.id for rule in rules().values() if rule.slug not in named]


def test_every_rule_that_code_names_exists() -> None:
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            first = node.args[0]
            if name in ("problem", "complain", "report") and isinstance(first, ast.Constant):
                assert first.value in rules(), f"{path.name}:{node.lineno}"


def test_rules_are_worded_alike() -> None:
    seen: dict[str, str] = {}
    for rule in rules().values():
        assert re.fullmatch(r"MC\d{3}", rule.id), rule.slug
        assert rule.id not in seen, f"{rule.id} is used by {rule.slug} and {seen[rule.id]}"
        seen[rule.id] = rule.slug
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.slug)
        assert not rule.message.endswith("."), rule.id
        assert rule.why.endswith((".", "}")), rule.id
        assert not rule.fix.endswith("."), rule.id
