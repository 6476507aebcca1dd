# SPDX-License-Identifier: Apache-2.0
"""Loading YAML from outside within bounds: size, depth, aliases and merges, numbers.

    for document in load_documents(text): ...

PyYAML writes out every alias of a merge key, reads `1:1:1` as a number of any length, and stops for none of
that. So the events of a text are counted before anything is made of them; they cost time in proportion to its
length. What exceeds a bound is a `yaml.MarkedYAMLError`, as everything else that is wrong with a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import yaml
from yaml._yaml import CParser
from yaml.composer import Composer

MAX_DEPTH: Final = 200
MAX_NODES: Final = 1_000_000
"""Values of a text, as written."""
MAX_REQUEST_NODES: Final = 200_000
"""The same for a text of a request: a mebibyte of custom resource definitions has about half of them."""
MAX_COPIES: Final = 100_000
"""Values that aliases stand for, in all."""
MAX_DIRECTIVES: Final = 100
"""libyaml compares each one with all before it."""
MAX_DIGITS: Final = 1000
MAX_LONG_NUMBERS: Final = 5000
"""As keys they can all have the same hash value."""
UNREADABLE: Final = (
    yaml.YAMLError,
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What PyYAML raises for a text that it cannot load; `!!bool maybe`, for example, is a KeyError."""
_LONG: Final = 16
"""Shorter numbers have hash values of their own."""
_NUMBER: Final = re.compile(r"[-+.]?[0-9][0-9a-fA-FxobXOB_:.]*")
_NUMBER_TAGS: Final = frozenset({"tag:yaml.org,2002:int", "tag:yaml.org,2002:float"})
_DIRECTIVE: Final = re.compile(r"(?:^|[\r\n\x85\u2028\u2029\ufeff])%")
_QUOTED: Final = re.compile(r"(['\"]).*\1")
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")


class Exceeded(yaml.MarkedYAMLError):
    """A text exceeds a bound."""


@dataclass(frozen=True)
class _Line:
    """The mark of all values of a line."""

    line: int
    name: str = ""
    column: int = 0


class SharingLoader(Composer, yaml.CSafeLoader):
    """Loads what CSafeLoader loads, and lets other threads run meanwhile.

    CSafeLoader makes the nodes of a document in C, and keeps the interpreter for as long as that takes. With
    two marks of each node there are so many objects that the garbage collector keeps it, too.
    """

    def __init__(self, stream: str | bytes) -> None:
        yaml.CSafeLoader.__init__(self, stream)
        self.anchors = {}
        self._mark = _Line(0)

    def get_event(self) -> Any:
        event: Any = super().get_event()
        if event is not None:
            if event.start_mark.line != self._mark.line:
                self._mark = _Line(event.start_mark.line)
            event.start_mark = event.end_mark = self._mark
        return event


@dataclass
class _Anchor:
    weight: int = 1
    """How many values it holds, itself among them, with its aliases written out."""
    depth: int = 0
    is_open: bool = False


@dataclass
class _Open:
    anchor: str
    weight_before: int
    depth: int = 1


@dataclass
class _Count:
    """What the events of one document add up to."""

    max_nodes: int = MAX_NODES
    nodes: int = 0
    copies: int = 0
    long_numbers: int = 0
    anchors: dict[str, _Anchor] = field(default_factory=dict)
    stack: list[_Open] = field(default_factory=list)

    def take(self, event: Any) -> None:
        """Count an event, or raise `Exceeded`."""
        kind = type(event)
        if kind is yaml.ScalarEvent:
            self._scalar(event)
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            self._begin(event)
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            self._end()
        elif kind is yaml.AliasEvent:
            self._alias(event)
        elif kind is yaml.DocumentStartEvent:
            self.anchors.clear()
        if self.nodes > self.max_nodes:
            raise _exceeded(event, f"it has more than {self.max_nodes:,} values")

    def _scalar(self, event: Any) -> None:
        self.nodes += 1
        if event.anchor:
            self.anchors[event.anchor] = _Anchor()
        is_number = (event.implicit[0] and not event.tag) or event.tag in _NUMBER_TAGS
        if len(event.value) >= _LONG and is_number and _NUMBER.fullmatch(event.value):
            self.long_numbers += 1
            if len(event.value) > MAX_DIGITS:
                raise _exceeded(event, f"it has a number of more than {MAX_DIGITS} digits")
            if self.long_numbers > MAX_LONG_NUMBERS:
                raise _exceeded(event, f"it has more than {MAX_LONG_NUMBERS} numbers of {_LONG} digits")

    def _begin(self, event: Any) -> None:
        self.nodes += 1
        self._check_depth(event, 1)
        if event.anchor:
            self.anchors[event.anchor] = _Anchor(is_open=True)
        self.stack.append(_Open(event.anchor or "", self.nodes + self.copies - 1))

    def _end(self) -> None:
        done = self.stack.pop()
        if done.anchor:
            self.anchors[done.anchor] = _Anchor(self.nodes + self.copies - done.weight_before, done.depth)
        self._hold(done.depth)

    def _alias(self, event: Any) -> None:
        self.nodes += 1
        target = self.anchors.get(event.anchor)
        if target is None:
            return  # What loads it will say so.
        if target.is_open:
            raise _exceeded(event, "an alias stands inside of what it stands for")
        self._check_depth(event, target.depth)
        self.copies += target.weight
        if self.copies > MAX_COPIES:
            raise _exceeded(event, f"its aliases stand for more than {MAX_COPIES:,} values")
        self._hold(target.depth)

    def _hold(self, depth: int) -> None:
        if self.stack:
            self.stack[-1].depth = max(self.stack[-1].depth, depth + 1)

    def _check_depth(self, event: Any, levels: int) -> None:
        if len(self.stack) + levels > MAX_DEPTH:
            raise _exceeded(event, f"it is nested more than {MAX_DEPTH} levels deep")


def _exceeded(event: Any, why: str) -> Exceeded:
    return Exceeded(None, None, why, event.start_mark)


def check_directives(text: str | bytes) -> None:
    """Refuse a text that libyaml would take very long to read, without a chance for other threads."""
    if isinstance(text, bytes):
        text = text.decode("utf-16" if text[:2] in _UTF16 else "utf-8", "replace")
    if len(_DIRECTIVE.findall(text)) > MAX_DIRECTIVES:
        raise Exceeded(None, None, f"it has more than {MAX_DIRECTIVES} directives")


def check_bounds(text: str | bytes, max_nodes: int = MAX_NODES) -> None:
    """Raise `Exceeded` when a text exceeds a bound, up to the place where it is not YAML, if there is one."""
    check_directives(text)
    count = _Count(max_nodes)
    try:
        parser = CParser(text)
        while (event := parser.get_event()) is not None:
            count.take(event)
    except Exceeded:
        raise
    except yaml.YAMLError:
        return  # Nothing behind it is ever loaded, and what loads the text says why.


def iter_documents(
    text: str | bytes, loader: Any = yaml.CSafeLoader, max_nodes: int = MAX_NODES
) -> Iterator[Any]:
    """The documents of a text, up to the place where it cannot be loaded: then one of `UNREADABLE`."""
    check_bounds(text, max_nodes)
    yield from yaml.load_all(text, loader)


def load_documents(text: str | bytes) -> list[Any]:
    """All documents of a text; one of `UNREADABLE` when it cannot be loaded, or exceeds a bound."""
    return list(iter_documents(text))


def load_request(text: str | bytes) -> list[Any]:
    """The same for a text of a request: it is smaller, and other requests are answered meanwhile."""
    return list(iter_documents(text, SharingLoader, MAX_REQUEST_NODES))


def load_document(text: str | bytes) -> Any:
    """The only document of a text; one of `UNREADABLE` when it cannot be loaded, or exceeds a bound."""
    check_bounds(text)
    return yaml.load(text, yaml.CSafeLoader)


def reason_of(error: BaseException) -> str:
    """Why and in which line a text could not be loaded, without what it quotes: that may be a secret."""
    mark = getattr(error, "problem_mark", None)
    why = _QUOTED.sub("…", getattr(error, "problem", None) or "") or "a value is not what its tag says"
    why = f"it is not YAML: {why}" if not isinstance(error, Exceeded) else why
    return f"line {mark.line + 1}: {why}" if mark is not None else why
