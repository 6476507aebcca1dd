# SPDX-License-Identifier: Apache-2.0
"""The site that all others are made from, with places to fill in: ``hostname: ${name}.example.com``."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Final, NamedTuple

from muster.config.document.folder import Folder, read_text
from muster.config.document.parse import parse_yaml
from muster.config.fleet.fault import RowError
from muster.config.fleet.paths import FILES, Path
from muster.config.load import load_site
from muster.frozen import dataclass
from muster.model.problem import Problem, in_order
from muster.model.site import Environment, Site
from muster.model.tree import Map, Node, Scalar, walk

_PLACEHOLDER: Final = re.compile(r"\$\$\{|\$\{([^}\n]*)\}")


class Part(NamedTuple):
    """A text, or the column that it comes from."""

    text: str = ""
    column: str = ""


@dataclass(frozen=True)
class Placeholder:
    """A value of the template with ``${column}`` in it."""

    path: Path
    node: Scalar
    parts: tuple[Part, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(part.column for part in self.parts if part.column)

    def fill(self, cells: Mapping[str, Node]) -> Node:
        """The value that a row gives to it, at the place of the row's first cell."""
        if len(self.parts) == 1 and self.parts[0].column in cells:
            found = cells[self.parts[0].column]
            if not isinstance(found, Scalar):
                return found
        at: Node | None = None
        text = ""
        for part in self.parts:
            cell = cells.get(part.column) if part.column else None
            if part.column and not isinstance(cell, Scalar):
                lack = "is empty" if cell is None else "is not a single value"
                raise RowError(
                    f"{part.column} {lack}, but {self.path} needs it",
                    f"fill in {part.column}, or take ${{{part.column}}} out of the template",
                )
            text += cell.text if isinstance(cell, Scalar) else part.text
            at = at or cell
        place = at or self.node
        return Scalar(place.source, place.start, place.end, text, plain=self.node.plain)


@dataclass(frozen=True)
class Template:
    """The files of the template as trees, and what is the same at every site."""

    trees: Mapping[str, Map] = field(repr=False)
    """By the name of the file without its ending."""
    placeholders: tuple[Placeholder, ...] = field(repr=False)
    site: Site = field(repr=False)
    digest: str
    """Of everything that the template says."""


def load_template(folder: Folder, environment: Environment) -> tuple[Template | None, list[Problem]]:
    """The template, or what is wrong with it apart from the places that rows fill in."""
    site, problems = load_site(folder, environment)
    names = {f"{file}.yaml" for file in FILES}
    kept = [each for each in problems if each.place.source.name not in names]
    trees: dict[str, Map] = {}
    texts = [source.text for source in site.sources if source.name not in names]
    for file in FILES:
        source, found = read_text(folder, f"{file}.yaml")
        documents: list[Node] = []
        if source is not None:
            documents, found = parse_yaml(source)
            texts.append(source.text)
        kept += found
        if len(documents) != 1 or not isinstance(documents[0], Map):
            return None, in_order(problems)
        trees[file] = documents[0]
    digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()
    return Template(trees, tuple(_placeholders(trees)), site, digest), in_order(kept)


def _placeholders(trees: Mapping[str, Map]) -> Iterator[Placeholder]:
    for file, tree in trees.items():
        for steps, node in walk(tree):
            parts = tuple(_parts(node.text)) if "${" in node.text else ()
            if parts:
                yield Placeholder(Path(file, steps), node, parts)


def _parts(text: str) -> Iterator[Part]:
    """The parts of a text; ``$${`` stands for ``${`` itself."""
    end = 0
    for match in _PLACEHOLDER.finditer(text):
        if match.start() > end:
            yield Part(text[end : match.start()])
        yield Part(text="${") if match[1] is None else Part(column=match[1].strip())
        end = match.end()
    if end < len(text):
        yield Part(text[end:])
