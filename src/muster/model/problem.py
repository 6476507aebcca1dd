# SPDX-License-Identifier: Apache-2.0
"""A broken rule at a place: what is wrong, why it matters, how to fix it, and the repair if any."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self, TypeAlias

from muster.model.catalogue import Rule, Severity, rules
from muster.model.tree import Node, Source
from muster.redact import redact


@dataclass(frozen=True)
class Edit:
    """Replace the characters from ``start`` up to ``end`` of a file with ``text``."""

    source: Source
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Move:
    """Give a file its right name, which has a place in the site's directory."""

    source: Source
    name: str


Repair: TypeAlias = Edit | Move


@dataclass(frozen=True)
class Place:
    """Where something stands: a file, and within it the characters from ``start`` up to ``end``."""

    source: Source
    start: int = 0
    end: int = 0

    @classmethod
    def of(cls, node: Node) -> Self:
        """The place of a value."""
        return cls(node.source, node.start, node.end)

    @classmethod
    def of_key(cls, node: Node) -> Self:
        """The place of the key that a value stands under, or of the value when it has none."""
        return cls.of(node.key or node)

    @classmethod
    def start_of(cls, node: Node) -> Self:
        """The first line of a value, as the place of what is wrong with all of it."""
        end = node.source.text.find("\n", node.start, node.end)
        return cls(node.source, node.start, node.end if end < 0 else end)

    @property
    def line(self) -> int:
        """The line, from 1."""
        return self.position[0]

    @property
    def where(self) -> str:
        """File and line, as messages refer to another place."""
        return f"{self.source.name}:{self.line}"

    @property
    def position(self) -> tuple[int, int]:
        """Line and column, both from 1."""
        return self.source.position(self.start)

    def __str__(self) -> str:
        if not self.source.text:
            return self.source.name
        line, column = self.position
        return f"{self.source.name}:{line}:{column}"


@dataclass(frozen=True)
class Problem:
    """A broken rule at a place."""

    rule: Rule
    place: Place
    values: dict[str, str] = field(default_factory=dict)
    edits: tuple[Repair, ...] = ()

    @property
    def severity(self) -> Severity:
        return self.rule.severity

    @property
    def message(self) -> str:
        return self.rule.message.format_map(self.values)

    @property
    def why(self) -> str:
        return self.rule.why.format_map(self.values)

    @property
    def fix(self) -> str:
        return self.rule.fix.format_map(self.values)


def problem(slug: str, at: Node | Place, *, edits: tuple[Repair, ...] = (), **values: object) -> Problem:
    """Break a rule: name it by its slug, say where, and give the values its words take."""
    place = at if isinstance(at, Place) else Place.of(at)
    return Problem(rules()[slug], place, {name: redact(str(value)) for name, value in values.items()}, edits)


def in_order(problems: list[Problem]) -> list[Problem]:
    """Sorted by place, each problem once (aliases make one value appear in many places)."""
    unique = {(p.place.source.name, p.place.start, p.rule.id, p.message): p for p in problems}
    return [unique[key] for key in sorted(unique)]
