# SPDX-License-Identifier: Apache-2.0
"""Text → tree: YAML read event by event, with a place for every value and limits for hostile input."""

from __future__ import annotations

import re
from dataclasses import field
from textwrap import shorten
from typing import Any, Final

import yaml
from yaml._yaml import CParser

from muster.config.document.slips import MAX_DEPTH, mend_slips
from muster.frozen import dataclass
from muster.model.bounded_yaml import check_directives
from muster.model.problem import Place, Problem, problem
from muster.model.tree import Map, Node, Scalar, Sequence, Source
from muster.redact import MASK

MAX_NODES: Final = 2_000_000
MAX_PROBLEMS: Final = 1000
"""Of one file; who has more mends the first ones first."""
_MERGE: Final = "<<"


class _Stop(Exception):
    """The rest of the file cannot be read."""


@dataclass(frozen=True)
class _Anchor:
    """A value that aliases may stand for."""

    node: Node
    weight: int = 1
    """How many values it holds, itself among them, with its aliases written out."""
    depth: int = 0
    """How many levels of collections it has."""
    is_open: bool = False
    """Its end was not met yet: an alias would stand inside itself."""


@dataclass
class _Open:
    """A collection whose end was not met yet."""

    node: Map | Sequence
    weight_before: int
    anchor: str = ""
    depth: int = 1
    key: Scalar | None = None
    merges: list[Node] = field(default_factory=list)


def parse_yaml(source: Source, max_nodes: int = MAX_NODES) -> tuple[list[Node], list[Problem]]:
    """The documents of a file, and what is wrong with its text."""
    try:
        check_directives(source.text)
    except yaml.MarkedYAMLError as error:
        advice = "remove the lines that begin with %"
        return [], [problem("yaml-syntax", Place(source, 0, 1), what=error.problem, advice=advice)]
    text, problems = mend_slips(source)
    reader = _Reader(source, problems, max_nodes)
    try:
        reader.read(CParser(text))
    except _Stop:
        pass
    except yaml.reader.ReaderError as error:
        at = _place_of_character(source, error)
        problems.append(problem("bad-character", at, code=f"U+{ord(source.text[at.start]):04X}"))
    except yaml.MarkedYAMLError as error:
        # A tab stands for any number of spaces, so what follows one says nothing about the file.
        if not any(found.rule.slug == "tab-indent" for found in problems):
            problems.append(_syntax_problem(source, error))
    return reader.documents, problems


class _Reader:
    """Builds the tree without recursion, so that depth is a limit of ours and not of the stack."""

    def __init__(self, source: Source, problems: list[Problem], max_nodes: int) -> None:
        self.source = source
        self.problems = problems
        self._max_nodes = max_nodes
        self.documents: list[Node] = []
        self._stack: list[_Open] = []
        self._anchors: dict[str, _Anchor] = {}
        self._weight = 0

    def read(self, parser: Any) -> None:
        """Consume all events of a parser."""
        while (event := parser.get_event()) is not None:
            kind = type(event)
            if kind is yaml.ScalarEvent:
                self._scalar(event)
            elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
                self._begin(event)
            elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                self._finish(event)
            elif kind is yaml.AliasEvent:
                self._alias(event)
            elif kind is yaml.DocumentStartEvent:
                self._anchors.clear()

    def report(self, slug: str, at: Node | Place, **values: object) -> None:
        """Note what is wrong, unless there is too much of it already."""
        if len(self.problems) < MAX_PROBLEMS:
            shown: dict[str, Any] = {
                name: value() if callable(value) else value for name, value in values.items()
            }
            self.problems.append(problem(slug, at, **shown))

    def _scalar(self, event: Any) -> None:
        node = Scalar(
            self.source, event.start_mark.index, event.end_mark.index, event.value, plain=not event.style
        )
        self._check_tag(event, node)
        if event.anchor or event.tag:
            _skip_properties(node)
        if event.anchor:
            self._anchors[event.anchor] = _Anchor(node)
        self._add(node, 1)

    def _begin(self, event: Any) -> None:
        kind = Map if type(event) is yaml.MappingStartEvent else Sequence
        node = kind(self.source, event.start_mark.index, flow=bool(event.flow_style))
        self._check_tag(event, node)
        self._check_depth(node, 1)
        if event.anchor:
            self._anchors[event.anchor] = _Anchor(node, is_open=True)
        self._stack.append(_Open(node, self._weight, event.anchor or ""))

    def _check_depth(self, node: Node, levels: int) -> None:
        if len(self._stack) + levels > MAX_DEPTH:
            self.report("too-deep", node, limit=MAX_DEPTH)
            raise _Stop

    def _finish(self, event: Any) -> None:
        done = self._stack.pop()
        done.node.end = event.end_mark.index
        if isinstance(done.node, Map):
            self._merge(done)
        if done.anchor and self._anchors[done.anchor].node is done.node:
            weight = self._weight - done.weight_before + 1
            self._anchors[done.anchor] = _Anchor(done.node, weight, done.depth)
        self._add(done.node, 1, done.depth)

    def _alias(self, event: Any) -> None:
        at = Place(self.source, event.start_mark.index, event.end_mark.index)
        target = self._anchors.get(event.anchor)
        if target is None:
            self.report("unknown-alias", at, name=lambda: _shown(at, event.anchor))
            raise _Stop
        if target.is_open:
            self.report("recursive-alias", at, name=lambda: _shown(at, event.anchor))
            raise _Stop
        copy = _copy(target.node, at)
        self._check_depth(copy, target.depth)
        self._add(copy, target.weight, target.depth)

    def _add(self, node: Node, weight: int, depth: int = 0) -> None:
        self._weight += weight
        if self._weight > self._max_nodes:
            self.report("alias-bomb", node, limit=f"{self._max_nodes:,}")
            raise _Stop
        if not self._stack:
            self.documents.append(node)
            return
        top = self._stack[-1]
        top.depth = max(top.depth, depth + 1)
        if isinstance(top.node, Sequence):
            top.node.items.append(node)
        elif top.key is None:
            top.key = self._as_key(node)
        else:
            key, top.key = top.key, None
            self._put(top, key, node)

    def _as_key(self, node: Node) -> Scalar:
        if isinstance(node, Scalar) and not node.is_null:
            return node
        self.report("non-string-key", node, key=lambda: _excerpt(node))
        return Scalar(node.source, node.start, node.end, "", plain=True)

    def _put(self, top: _Open, key: Scalar, node: Node) -> None:
        assert isinstance(top.node, Map)
        if key.is_null:
            return
        if key.plain and key.text == _MERGE:
            top.merges.append(node)
            return
        first = top.node.items.get(key.text)
        if first is not None:
            self.report("duplicate-key", key, key=key.text, first=lambda: Place.of_key(first).line)
            return
        node.key = key
        top.node.items[key.text] = node

    def _merge(self, done: _Open) -> None:
        """``<<: *defaults``: what the mapping does not say itself, it takes from there."""
        assert isinstance(done.node, Map)
        for merged in done.merges:
            parts = merged.items if isinstance(merged, Sequence) else [merged]
            for part in parts:
                if not isinstance(part, Map):
                    self.report("bad-merge", part)
                    continue
                for key, node in part.items.items():
                    done.node.items.setdefault(key, node)

    def _check_tag(self, event: Any, node: Node) -> None:
        tag = event.tag
        if tag and tag not in _KNOWN_TAGS:
            written = tag.replace("tag:yaml.org,2002:", "!!")
            self.report("unknown-tag", node, tag=lambda: _shown(Place.of(node), written))
        elif tag == _STRING_TAG and isinstance(node, Scalar):
            node.plain = False


_STRING_TAG: Final = "tag:yaml.org,2002:str"
_KNOWN_TAGS: Final = frozenset(
    f"tag:yaml.org,2002:{name}" for name in ("str", "int", "bool", "float", "null", "map", "seq")
) | {"!"}
_EXCERPT: Final = 1000
_PROPERTIES: Final = re.compile(r"(?:[&!]\S*\s+)*")


def _excerpt(node: Node) -> str:
    """The first words of a value, as they are written."""
    text = node.source.text[node.start : min(node.end, node.start + _EXCERPT)]
    return shorten(text, 60, placeholder="...") or '""'


def _shown(place: Place, word: str) -> str:
    """A word of a line, unless the line may not be shown: a password can begin like an alias or a tag."""
    return MASK if place.line in place.source.masked else word


def _skip_properties(node: Scalar) -> None:
    """An anchor or a tag is not part of the value that it stands before."""
    match = _PROPERTIES.match(node.source.text, node.start, node.end)
    if match:
        node.start = match.end()


def _copy(node: Node, at: Place) -> Node:
    """The value that an alias stands for, at the alias's own place (its parts keep theirs)."""
    made: Node
    match node:
        case Scalar():
            return Scalar(at.source, at.start, at.end, node.text, plain=node.plain)
        case Map():
            mapping = Map(at.source, at.start, flow=True)
            mapping.items = node.items
            made = mapping
        case Sequence():
            sequence = Sequence(at.source, at.start, flow=True)
            sequence.items = node.items
            made = sequence
        case _:
            raise TypeError(node)
    made.end = at.end
    return made


def _place_of_character(source: Source, error: Any) -> Place:
    index = min(error.position, max(len(source.text) - 1, 0))
    for found, char in enumerate(source.text):
        if ord(char) == error.character:
            index = found
            break
    return Place(source, index, index + 1)


_NO_COLON: Final = re.compile(r"(?P<key>[A-Za-z][\w.-]*)(?: .*)?\Z")
_QUOTED_VALUE: Final = re.compile(r"\s*(?:- )?[A-Za-z][\w.-]* ['\"]")
_NO_SPACE: Final = re.compile(r"(?P<key>[A-Za-z][\w.-]*):[^ ].*\Z")


def _syntax_problem(source: Source, error: yaml.MarkedYAMLError) -> Problem:
    mark = error.problem_mark or error.context_mark
    index = min(mark.index if mark else 0, len(source.text))
    what = str(error.problem or "cannot be parsed")
    slip = _colon_slip(source, error, index)
    if slip is not None:
        return slip
    context = f" {error.context}" if error.context else ""
    started = ""
    began = _line_of(source, error.context_mark)
    if began and began != _line_of(source, mark):
        if error.context_mark and "unexpected end of stream" in what:
            index = error.context_mark.index
        else:
            started = f" (which began on line {began})"
    place = Place(source, index, index + 1)
    return problem(
        "yaml-syntax", place, what=f"{what}{context}{started}", advice=_advice(source, place, what)
    )


def _line_of(source: Source, mark: Any) -> int:
    """The line of a mark as editors count, which end fewer lines than YAML does; 0 without a mark."""
    return source.position(min(mark.index, len(source.text)))[0] if mark else 0


def _colon_slip(source: Source, error: yaml.MarkedYAMLError, index: int) -> Problem | None:
    """A key without its colon, which the parser notices only behind it and often on a later line."""
    number = _line_without_colon(source, error, index)
    line = source.line(number).partition(" #")[0].rstrip() if number else ""
    written = line.lstrip(" -")
    for pattern, what, advice in (
        (_NO_COLON, "there is no colon behind the key", "put a colon behind {key}, if that is a key"),
        (
            _NO_SPACE,
            "there is no space behind the colon",
            "put a space behind the colon of {key}, if that is a key",
        ),
    ):
        match = pattern.match(written)
        if match is not None:
            start = source.line_starts[number - 1] + len(line) - len(written)
            at = Place(source, start, start + len(written))
            key = _shown(at, match["key"])
            words = advice.format(key="its first word" if key == MASK else key)
            return problem("yaml-syntax", at, what=what, advice=words)
    return None


def _line_without_colon(source: Source, error: yaml.MarkedYAMLError, index: int) -> int:
    """The line that the colon is most likely missing on; 0 when the mistake is another."""
    what = str(error.problem)
    number, column = source.position(index)
    if "could not find expected ':'" in what and error.context_mark:
        return _line_of(source, error.context_mark)
    if "did not find expected key" in what:
        return number if _QUOTED_VALUE.match(source.line(number)) else 0
    if "mapping values are not allowed" not in what or ": " in source.line(number)[: column - 1]:
        return 0
    number -= 1
    while number > 1 and not source.line(number).partition("#")[0].strip():
        number -= 1
    return 0 if source.line(number).lstrip().startswith("-") else number


def _advice(source: Source, place: Place, what: str) -> str:
    line = source.line(place.line)
    if "mapping values are not allowed" in what:
        return "put the value in quotes if it contains ': ', or check the indentation of this line"
    if "unexpected end of stream" in what:
        return "close the quote or bracket that was opened"
    if "did not find expected key" in what or "block end" in what:
        return "check that this line is indented exactly like its neighbours and that quotes are closed"
    if "cannot start any token" in what and line[place.position[1] - 1 :][:1] in "@`%":
        return "put the value in quotes: it starts with a character that YAML reserves"
    return "check indentation, quotes and brackets on this line and the one before"
