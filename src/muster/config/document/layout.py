# SPDX-License-Identifier: Apache-2.0
"""Layouts that earlier versions of the formats had, read as what they mean today."""

from __future__ import annotations

from muster.config.document.edit import block_end, in_flow
from muster.model.agent_config import AgentConfig
from muster.model.problem import Edit, Place, Problem, problem
from muster.model.schema import Model
from muster.model.tree import Map


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
