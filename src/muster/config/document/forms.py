# SPDX-License-Identifier: Apache-2.0
"""A single value where a mapping belongs: the one field that is meant by it, and how that is written."""

from __future__ import annotations

import re

from muster.config.document import edit
from muster.model.problem import Edit
from muster.model.schema import Model, Object, fields_of
from muster.model.tree import Node, Scalar


def as_mapping(model: type[Model], node: Node) -> tuple[str, tuple[Edit, ...]]:
    """What to do about a value that should be a mapping, and the edits that do it, if it is clear."""
    if not isinstance(node, Scalar):
        return "", ()
    key, pattern = model.alone
    if key and re.fullmatch(pattern, node.text):
        return f"write {key}: {node.text}{_below(node)}", edit.nest(node, f"{key}: ", keep=True)
    for name, entry in fields_of(model).items():
        if name.lower() == node.text.lower() and isinstance(entry.kind, Object):
            if fields_of(entry.kind.model):
                return f"write {name}: with its fields{_below(node)}", ()
            return f"write {name}: {{}}{_below(node)}", edit.nest(node, f"{name}: {{}}")
    return "", ()


def _below(node: Scalar) -> str:
    return f" on a line of its own, below {node.key.text}:" if node.key else ""
