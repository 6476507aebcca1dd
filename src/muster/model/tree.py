# SPDX-License-Identifier: Apache-2.0
"""A YAML document as a tree that remembers where every value stands in its file.

Scalars are kept as the text the user wrote: what a scalar *means* is for the schema to say, not for
YAML 1.1 (where ``no`` is false, ``4.10`` is 4.1 and ``1:30`` is 90).
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, TypeAlias, TypeGuard

from muster.redact import masked_lines

Plain: TypeAlias = "str | int | float | bool | list[Plain] | dict[str, Plain] | None"


@dataclass(frozen=True, eq=False)
class Source:
    """One file's text under the name shown to the user."""

    name: str
    text: str = field(repr=False)
    marked: bool = False
    """Whether the file begins with a byte order mark, which is not part of the text."""
    secrets: list[tuple[int, int]] = field(default_factory=list, repr=False)
    """From where to where values stand that are never shown; noted as they are read."""

    @cached_property
    def line_starts(self) -> list[int]:
        """Index of the first character of each line."""
        return [0, *(match.end() for match in re.finditer(r"\n", self.text))]

    @cached_property
    def masked(self) -> Mapping[int, str]:
        """Lines that look as if they hold a secret, by number (from 1), as they may be shown."""
        return masked_lines(self.text)

    def position(self, index: int) -> tuple[int, int]:
        """Line and column of a character, both from 1."""
        line = bisect_right(self.line_starts, index)
        return line, index - self.line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of one line, without its end."""
        if not 1 <= number <= len(self.line_starts):
            return ""
        start = self.line_starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : len(self.text) if end < 0 else end].rstrip("\r")


class Node:
    """A value in a document: a scalar, a sequence or a mapping, from ``start`` up to ``end``."""

    __slots__ = ("end", "key", "source", "start")

    def __init__(self, source: Source, start: int, end: int) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.key: Scalar | None = None
        """The key that this value stands under, when it is a value of a mapping."""


class Scalar(Node):
    """A leaf, as text. ``plain`` when it was written without quotes."""

    __slots__ = ("plain", "text")

    def __init__(self, source: Source, start: int, end: int, text: str, *, plain: bool) -> None:
        super().__init__(source, start, end)
        self.text = text
        self.plain = plain

    @property
    def is_null(self) -> bool:
        """Whether it says nothing: ``key:``, ``~`` or ``null``."""
        return self.plain and self.text in _NULLS


class Sequence(Node):
    """A list of values."""

    __slots__ = ("flow", "items")

    def __init__(self, source: Source, start: int, *, flow: bool) -> None:
        super().__init__(source, start, start)
        self.items: list[Node] = []
        self.flow = flow


class Map(Node):
    """A mapping with string keys, in the order of the file."""

    __slots__ = ("flow", "items")

    def __init__(self, source: Source, start: int, *, flow: bool) -> None:
        super().__init__(source, start, start)
        self.items: dict[str, Node] = {}
        self.flow = flow

    def get(self, key: str) -> Node | None:
        """The value under a key, or None when the key is absent or says nothing."""
        node = self.items.get(key)
        return None if is_null(node) else node


NOWHERE: Final[Node] = Node(Source("", ""), 0, 0)
"""Stands in for the place of values that no file holds (built in code, or derived)."""


def is_null(node: Node | None) -> TypeGuard[None]:
    """Whether a value is absent or says nothing."""
    return node is None or (isinstance(node, Scalar) and node.is_null)


def find(node: Node, path: tuple[str | int, ...]) -> Node:
    """Follow a path as far as the tree goes and return the last value met."""
    for step in path:
        child: Node | None = None
        if isinstance(node, Map) and isinstance(step, str):
            child = node.items.get(step)
        elif isinstance(node, Sequence) and isinstance(step, int) and step < len(node.items):
            child = node.items[step]
        if child is None:
            return node
        node = child
    return node


def copied(node: Node) -> Node:
    """A tree of one's own to change; its values and places are those of the other."""
    made: Map | Sequence
    match node:
        case Map():
            made = Map(node.source, node.start, flow=node.flow)
            made.items = {key: copied(child) for key, child in node.items.items()}
        case Sequence():
            made = Sequence(node.source, node.start, flow=node.flow)
            made.items = [copied(child) for child in node.items]
        case _:
            return node
    made.end, made.key = node.end, node.key
    return made


def words_of(path: tuple[str | int, ...]) -> str:
    """A path as people write it: ``hosts[0].name``."""
    parts = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(parts).lstrip(".")


def walk(node: Node, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Scalar]]:
    """Every scalar below a value, with its path."""
    match node:
        case Scalar():
            yield path, node
        case Map():
            for key, child in node.items.items():
                yield from walk(child, (*path, key))
        case Sequence():
            for index, child in enumerate(node.items):
                yield from walk(child, (*path, index))
        case _:
            raise TypeError(node)


_NULLS: Final = frozenset(("", "~", "null", "Null", "NULL"))
_BOOLS: Final[Mapping[str, bool]] = {
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_INT: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")

_OTHER_NUMBER: Final = re.compile(r"[-+]?0[box][0-9A-Fa-f_]+\Z|[-+]?[0-9][0-9_]*\Z")


def to_plain(node: Node) -> Plain:
    """Plain data for a free-form part, with the scalars of YAML 1.2's core schema.

    A number with a leading zero stays text, as it does in the parsers of Kubernetes and nmstate.
    """
    match node:
        case Scalar():
            return _scalar_value(node)
        case Sequence():
            return [to_plain(item) for item in node.items]
        case Map():
            return {key: to_plain(value) for key, value in node.items.items()}
        case _:
            raise TypeError(node)


def is_number(text: str) -> bool:
    """Whether some version of YAML takes a plain scalar with this text for a number."""
    return bool(_INT.match(text) or _FLOAT.match(text) or _OTHER_NUMBER.match(text))


def _scalar_value(node: Scalar) -> str | int | float | bool | None:
    text = node.text
    if not node.plain:
        return text
    if text in _NULLS:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    if _INT.match(text) and len(text) < 20:
        return int(text)
    if _FLOAT.match(text) and math.isfinite(float(text)):
        return float(text)
    return text
