# SPDX-License-Identifier: Apache-2.0
"""The one catalogue of rules: each has an id, a message, a reason (why) and a way out (fix).

The words are data (``rules/*.toml``), so that command line, console, web and docs show the same
ones. Code names a rule by its slug, users by its id: ``muster explain MC101``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from importlib.resources import files

from muster.frozen import dataclass


class Severity(StrEnum):
    """How bad a broken rule is."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class Rule:
    """One thing that has to hold. ``message``, ``why`` and ``fix`` take values in braces."""

    id: str
    slug: str
    severity: Severity
    message: str
    why: str
    fix: str
    repair: bool = False
    """Whether ``muster check --fix`` can repair it by itself (at least in its common form)."""


@cache
def rules() -> Mapping[str, Rule]:
    """All rules by slug, in the order of their ids."""
    found: list[Rule] = []
    folder = files("muster.model") / "rules"
    for entry in folder.iterdir():
        if entry.name.endswith(".toml"):
            for slug, words in tomllib.loads(entry.read_text("utf-8")).items():
                severity = Severity(words.pop("severity", "error"))
                found.append(Rule(slug=slug, severity=severity, **words))
    return {rule.slug: rule for rule in sorted(found, key=lambda rule: rule.id)}


def find_rule(name: str) -> Rule | None:
    """The rule with this id (in any case) or slug."""
    for rule in rules().values():
        if name.upper() == rule.id or name.lower() == rule.slug:
            return rule
    return None
