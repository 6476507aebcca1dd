# SPDX-License-Identifier: Apache-2.0
"""Files laid out in another way than is usual today, read as what they mean."""

from __future__ import annotations

import re
from typing import Final

from muster.config.document.edit import block_end, in_flow
from muster.model.agent_config import AgentConfig
from muster.model.problem import Edit, Place, Problem, problem
from muster.model.schema import Model, fields_of
from muster.model.tree import Map, Node

_SEPARATOR: Final = re.compile(r"^---[ \t]*(?:#.*)?\r?$", re.MULTILINE)


def join_documents(model: type[Model], documents: list[Node], problems: list[Problem]) -> Node | None:
    """The one document of a file; a line with --- between two halves of it is not taken for an end.

    None when the file holds several documents that are whole only together, so that none can be judged.
    """
    first, *others = documents
    is_torn = False
    for extra in others:
        line = _separator(extra)
        if line is None or not _continues(model, first, extra):
            at, advice = Place.start_of(extra), "merge the two documents, or move the second one away"
            problems.append(problem("several-documents", at, advice=advice))
            is_torn = is_torn or bool(_lacking(model, first) - _lacking(model, extra))
            continue
        edits = (Edit(line.source, line.start, min(line.end + 1, len(line.source.text)), ""),)
        advice = "remove the line with ---"
        problems.append(problem("several-documents", line, advice=advice, edits=edits))
        first = _joined(first, extra)
    return None if is_torn else first


def _lacking(model: type[Model], document: Node) -> set[str]:
    written = set(document.items) if isinstance(document, Map) else set()
    return {key for key, entry in fields_of(model).items() if entry.required} - written


def _separator(node: Node) -> Place | None:
    """The line with --- that a document begins behind, if nothing else stands there."""
    found = list(_SEPARATOR.finditer(node.source.text, 0, node.start))
    return Place(node.source, found[-1].start(), found[-1].end()) if found else None


def _continues(model: type[Model], first: Node, extra: Node) -> bool:
    """Whether a document only says what the one before it leaves out."""
    return (
        isinstance(first, Map)
        and isinstance(extra, Map)
        and not (first.flow or extra.flow or set(first.items) & set(extra.items))
        and set(extra.items) <= set(fields_of(model))
    )


def _joined(first: Node, extra: Node) -> Node:
    assert isinstance(first, Map)
    assert isinstance(extra, Map)
    whole = Map(first.source, first.start, flow=False)
    whole.items, whole.end = {**first.items, **extra.items}, extra.end
    return whole


def unwrap_spec(model: type[Model], document: Map, problems: list[Problem]) -> Map:
    """agent-config.yaml with everything under ``spec:``, as the first preview had it."""
    spec = document.items.get("spec")
    if model is not AgentConfig or not isinstance(spec, Map):
        return document
    problems.append(problem("spec-layout", Place.of_key(spec), kind=model.__name__, edits=_dedent(spec)))
    flat = Map(document.source, document.start, flow=document.flow)
    flat.end = document.end
    flat.items = {**spec.items, **{key: node for key, node in document.items.items() if node is not spec}}
    return flat


def _dedent(spec: Map) -> tuple[Edit, ...]:
    """Remove the line of the key, and its indentation from all lines below it."""
    if spec.key is None or spec.flow or in_flow(spec.key) or not spec.items:
        return ()
    source = spec.source
    key_line, key_column = source.position(spec.key.start)
    first_line, first_column = source.position(spec.start)
    width = first_column - key_column
    if first_line <= key_line or width <= 0:
        return ()
    start, end = source.line_starts[key_line - 1], source.line_starts[key_line]
    edits = [Edit(source, start, end, "")]
    last_line = source.position(max(block_end(spec) - 1, 0))[0]
    for number in range(key_line + 1, last_line + 1):
        line = source.line(number)
        shift = min(width, len(line) - len(line.lstrip(" ")))
        if shift:
            index = source.line_starts[number - 1]
            edits.append(Edit(source, index, index + shift, ""))
    return tuple(edits)
