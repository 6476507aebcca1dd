# SPDX-License-Identifier: Apache-2.0
"""apiVersion and kind: what a file says that it holds."""

from __future__ import annotations

from collections.abc import Iterator

from muster.config.document.edit import newline
from muster.model.problem import Edit, Place, Problem, problem
from muster.model.schema import Model
from muster.model.tree import Map, is_null


def check_version(item: Model, version: str, kind: str) -> Iterator[Problem]:
    """An object has the version and the kind that its file must hold."""
    found = getattr(item, "api_version", None)
    if found is not None and found != version:
        yield problem("wrong-api-version", item.at("api_version"), value=found, right=version)
    elif found is None and is_null(item.places.get("api_version")):
        edits = _add_version(item, version) if not item.has("api_version") else ()
        yield problem("missing-api-version", _top(item), edits=edits, right=version)
    named = getattr(item, "kind", None)
    if named is not None and named != kind:
        yield problem("wrong-object-kind", item.at("kind"), value=named, right=kind)
    elif named is None and is_null(item.places.get("kind")):
        yield problem("wrong-object-kind", _top(item), value="missing", right=kind)


def _top(item: Model) -> Place:
    return Place(item.node.source, item.node.start, item.node.start + 1)


def _add_version(item: Model, version: str) -> tuple[Edit, ...]:
    node = item.node
    if not isinstance(node, Map) or node.flow or node.source.position(node.start)[1] != 1:
        return ()
    return (Edit(node.source, node.start, node.start, f"apiVersion: {version}{newline(node.source)}"),)
