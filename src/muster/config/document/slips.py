# SPDX-License-Identifier: Apache-2.0
"""Slips that make a file unreadable, read as what they mean, so that everything else is still checked.

A slip is mended over the same number of characters, so that every other place stays true, and only where
the parser stops: the same characters inside a block of text are none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import yaml
from yaml._yaml import CParser

from muster.model.problem import Edit, Place, Problem, problem
from muster.model.tree import Source

_MOST: Final = 100
"""Lines that are mended; a file with more slips is told about the first ones."""
_MOST_CHARACTERS: Final = 8 << 20
_MOST_EVENTS: Final = 500_000
"""Parsed in all while slips are mended, because each one costs a pass over the file up to it."""
_DOUBLED_QUOTES: Final = re.compile(
    r"([ ]*(?:- )?(?P<key>[\w.-]+):[ ]+)''(?P<body>[^'\n]*[^'\s][^'\n]*)''[ \t]*(?=\r?\Z)"
)
MAX_DEPTH: Final = 64
"""Levels of collections in a file."""
_TAB_INDENT: Final = re.compile(r"[ ]*\t[ \t]*(?=\S)")


def mend_slips(source: Source) -> tuple[str, list[Problem]]:
    """The text as it can be parsed, and what was mended in it."""
    text, problems = source.text, list[Problem]()
    if "\t" not in text and "''" not in text:
        return text, problems
    events = 0
    for _ in range(min(_MOST, max(1, _MOST_CHARACTERS // len(text)))):
        index, count = _index_of_error(text)
        events += count
        if index is None or events > _MOST_EVENTS:
            break
        # By its index: YAML ends lines at more characters than editors do.
        start = source.line_starts[source.position(index)[0] - 1]
        mended = _mend_line(source, text, start)
        if mended is None:
            break
        text, found = mended
        problems.append(found)
    return text, problems


def _index_of_error(text: str) -> tuple[int | None, int]:
    """The character at which the parser stops, or None; and the number of events before that."""
    parser, depth, count = CParser(text), 0, 0
    try:
        # libyaml looks at all open brackets again for each token: what is too deep is not read to its end.
        while depth <= MAX_DEPTH and (event := parser.get_event()) is not None:
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            count += 1
    except yaml.MarkedYAMLError as error:
        return (int(error.problem_mark.index) if error.problem_mark else None), count
    except yaml.YAMLError:
        pass
    return None, count


def _mend_line(source: Source, text: str, start: int) -> tuple[str, Problem] | None:
    end = text.find("\n", start)
    line = text[start : end if end >= 0 else len(text)]
    for pattern, mend in _SLIPS:
        match = pattern.match(line)
        if match is not None:
            fixed, found = mend(source, start, match)
            return text[: start + match.start()] + fixed + text[start + match.end() :], found
    return None


def _mend_quotes(source: Source, start: int, match: re.Match[str]) -> tuple[str, Problem]:
    at = start + match.end(1)
    end = at + len(match["body"]) + 4
    edits = (Edit(source, at, end, f"'{match['body']}'"),)
    found = problem("doubled-quotes", Place(source, at, at + 2), key=match["key"], edits=edits)
    return f"{match[1]} '{match['body']}' ".ljust(match.end() - match.start()), found


def _mend_tab(source: Source, start: int, match: re.Match[str]) -> tuple[str, Problem]:
    place = Place(source, start, start + match.end())
    edits = (Edit(source, place.start, place.end, match[0].replace("\t", "  ")),)
    return " " * match.end(), problem("tab-indent", place, edits=edits)


_SLIPS: Final[
    tuple[tuple[re.Pattern[str], Callable[[Source, int, re.Match[str]], tuple[str, Problem]]], ...]
] = (
    (_DOUBLED_QUOTES, _mend_quotes),
    (_TAB_INDENT, _mend_tab),
)
