# SPDX-License-Identifier: Apache-2.0
"""Tables of sites: CSV with a header, or a YAML list with a mapping for each site.

Cells are values with a place, as if they stood in a site's own file: whatever is wrong with one is shown with
the line of the table. A row of CSV is one line, so that a quote that was forgotten spoils no other row. Rows
are kept as text and taken apart when they are used: a table of ten thousand sites takes two megabytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from muster.config.document.parse import parse_yaml
from muster.config.fleet.fault import Fault, RowError
from muster.config.fleet.paths import FILES
from muster.config.fleet.paths import Path as Place
from muster.errors import UserError, cannot
from muster.model.catalogue import Severity
from muster.model.problem import Place as Spot
from muster.model.tree import Map, Node, Plain, Scalar, Sequence, Source, is_null

MAX_BYTES: Final = 256 * 1024 * 1024
_DELIMITERS: Final = ",;\t"


class Table(Protocol):
    """Rows by number, each with the line that it begins on."""

    name: str
    columns: tuple[str, ...]
    faults: tuple[Fault, ...]

    def __len__(self) -> int: ...

    def line(self, index: int) -> int:
        """The line of a row."""
        ...

    def cells(self, index: int) -> dict[str, Node]:
        """The cells of a row that say something, by column."""
        ...

    def hide(self, columns: Iterable[str]) -> None:
        """Never show what stands in these columns."""
        ...


def load_table(path: Path) -> Table:
    """A table from disk; UserError when it is no table at all."""
    try:
        size = path.stat().st_size
        data = path.read_bytes() if size <= MAX_BYTES else b""
    except OSError as error:
        raise cannot("read", path, error) from error
    if size > MAX_BYTES:
        raise UserError(f"{path} has {size:,} bytes, {MAX_BYTES:,} are read", hint="split the table")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UserError(
            f"{path}:{line}: the byte 0x{data[error.start]:02x} is not UTF-8", hint="save the table as UTF-8"
        ) from error
    if path.suffix in (".yaml", ".yml", ".json"):
        return _parse_yaml_table(str(path), text)
    return parse_csv(str(path), text)


@dataclass
class CsvTable:
    """A table whose rows are kept as text."""

    name: str
    columns: tuple[str, ...]
    delimiter: str
    records: tuple[tuple[int, str], ...] = field(repr=False)
    faults: tuple[Fault, ...] = ()
    hidden: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self.records)

    def line(self, index: int) -> int:
        return self.records[index][0]

    def hide(self, columns: Iterable[str]) -> None:
        self.hidden = frozenset(columns)

    def cells(self, index: int) -> dict[str, Node]:
        line, record = self.records[index]
        if record.count('"') % 2:
            raise RowError("a double quote is not closed", 'close it; a quote inside of quotes is written ""')
        found = _split(record, self.delimiter)
        if len(found) != len(self.columns):
            raise RowError(
                f"the row has {len(found)} cells, the header has {len(self.columns)}",
                "check for a missing or an extra separator; put values that contain one into double quotes",
            )
        # Empty lines before the row, so that it has its line; a source of its own, so that what is
        # noted as secret is known before the row is shown.
        before = line - 1
        source = Source(self.name, "\n" * before + record)
        cells: dict[str, Node] = {}
        for column, (text, start, end) in zip(self.columns, found, strict=True):
            if text:
                cells[column] = Scalar(source, before + start, before + end, text, plain=True)
                if column in self.hidden:
                    source.secrets.append((before + start, before + end))
        return cells


def parse_csv(name: str, text: str) -> CsvTable:
    """A table with a header. Empty lines, and lines that begin with #, are passed over."""
    records = _records(text)
    first = next(records, None)
    if first is None:
        raise UserError(
            f"{name} is empty", hint="the first line names the columns, for example name,hostname,mac"
        )
    delimiter = max(_DELIMITERS, key=first[1].count)
    columns = tuple(cell for cell, _, _ in _split(first[1], delimiter))
    faults = []
    for column in sorted({column for column in columns if columns.count(column) > 1}):
        what = f"the column {column} is there twice" if column else "a column has no name"
        faults.append(Fault(f"{name}:{first[0]}", what, "give every column a name of its own"))
    return CsvTable(name, columns, delimiter, tuple(records), tuple(faults))


def _records(text: str) -> Iterator[tuple[int, str]]:
    """Every record with its line."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, line.rstrip("\r")


_CELL: Final = {
    mark: re.compile(rf'\s*"((?:[^"]|"")*)"[^\S\n]*(?={mark}|\Z)|([^{mark}]*)') for mark in _DELIMITERS
}


def _split(record: str, delimiter: str) -> list[tuple[str, int, int]]:
    """The cells of a record, with where each begins and ends."""
    cells = []
    index = 0
    while True:
        match = _CELL[delimiter].match(record, index)
        assert match is not None
        if match[1] is not None:
            cells.append((match[1].replace('""', '"'), match.start(1), match.end(1)))
        else:
            text = match[2].strip()
            start = match.start(2) + len(match[2]) - len(match[2].lstrip())
            cells.append((text, start, start + len(text)))
        index = match.end() + 1
        if match.end() >= len(record):
            return cells


@dataclass
class YamlTable:
    """A table whose rows are mappings; what stands under the name of a file is a part of that file."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Node], ...] = field(repr=False)
    lines: tuple[int, ...] = field(repr=False)
    faults: tuple[Fault, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def line(self, index: int) -> int:
        return self.lines[index]

    def cells(self, index: int) -> dict[str, Node]:
        return dict(self.rows[index])

    def hide(self, columns: Iterable[str]) -> None:
        hidden = frozenset(columns)
        for row in self.rows:
            for column in hidden & row.keys():
                row[column].source.secrets.append((row[column].start, row[column].end))


def _parse_yaml_table(name: str, text: str) -> YamlTable:
    source = Source(name, text)
    documents, problems = parse_yaml(source)
    wrong = [each for each in problems if each.severity is Severity.ERROR]
    if wrong:
        raise UserError(f"{wrong[0].place}: {wrong[0].message}", hint=wrong[0].fix)
    top = documents[0] if len(documents) == 1 else None
    listed = top.get("sites") if isinstance(top, Map) else top
    if not isinstance(listed, Sequence):
        raise UserError(
            f"{name} is not a list of sites", hint="write a list with a mapping for each site: - name: site1"
        )
    rows, lines, faults = [], [], []
    for item in listed.items:
        line = Spot.of(item).line
        if isinstance(item, Map):
            rows.append(dict(_flatten(item)))
            lines.append(line)
        else:
            faults.append(
                Fault(f"{name}:{line}", "the row is not a mapping", "write - name: site1, and so on")
            )
    columns = tuple(dict.fromkeys(column for row in rows for column in row))
    return YamlTable(name, columns, tuple(rows), tuple(lines), tuple(faults))


def _flatten(row: Map) -> Iterator[tuple[str, Node]]:
    for key, node in row.items.items():
        if key in FILES and isinstance(node, Map):
            yield from _leaves(Place(key, ()), node)
        elif not is_null(node):
            yield key, node


def _leaves(place: Place, node: Node) -> Iterator[tuple[str, Node]]:
    if isinstance(node, Map) and node.items:
        for key, child in node.items.items():
            yield from _leaves(Place(place.file, (*place.steps, key)), child)
    elif not is_null(node):
        yield str(place), node


def canonical(cells: Mapping[str, Node]) -> str:
    """What a row says, as a text that is the same whatever the order of its columns."""
    return json.dumps({column: _said(node) for column, node in cells.items()}, sort_keys=True)


def _said(node: Node) -> Plain:
    """A value with all that decides what it means: `"true"` is a text, and `true` is not."""
    match node:
        case Scalar():
            return [node.text, node.plain]
        case Sequence():
            return [[_said(item) for item in node.items]]
        case Map():
            return {key: _said(child) for key, child in node.items.items()}
        case _:
            raise TypeError(node)
